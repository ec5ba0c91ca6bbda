// SPDX-License-Identifier: BSD-3-Clause

// Silence, and the server's own end. These are last, for the server is another one behind them.
package main

import (
	"errors"
	"time"

	quic "github.com/lucas-clemente/quic-go"
)

var endCases = []testCase{
	{"SilentClient_LosesItsLeaseAfterOrphanMs", silentClient},
	{"ClientWithoutPing_IsGoneAfterTheIdleTime", withoutPing},
	{"ClientThatOnlyPings_KeepsItsLease", onlyPings},
	{"ClientThatLeaves_LosesItsLeaseAfterOrphanMs", clientLeaves},
	{"ServerKilledAndBack_ClientLearnsOfItByAReset", serverKilled},
	{"ServerEnds_OutcomesAreToldFirst", serverEnds},
}

// orphaned waits for the end of a lease whose holder is gone, and wants it no sooner than after
// this long since its holder's last sign.
func (j *judge) orphaned(witness *peer, l lease, last time.Time, atLeast time.Duration) {
	told := witness.hear(l)
	j.note("ended after %v", time.Since(last))
	j.equal(told.op, uint16(opExpired), "the notice's op")
	j.equal(noticeOf(told), ending{l, 0, tornDown, byDestroyMkey, causeExpired}, "the notice")
	j.want(time.Since(last) >= atLeast, "it ended after %v, not %v", time.Since(last), atLeast)
}

func (j *judge) witness() *peer {
	p := j.connect(wishes{who: "oscar"})
	p.ask(opWatch, numbers(everyTenant))
	return p
}

func silentClient(j *judge) {
	witness, alice := j.witness(), j.connect(wishes{})
	last := time.Now()
	l := alice.alloc(longTtl)
	alice.vanish()
	j.orphaned(witness, l, last, idle+orphan)
}

func withoutPing(j *judge) {
	witness, alice := j.witness(), j.connect(wishes{noTouch: true})
	last := time.Now()
	l := alice.alloc(longTtl)
	var late *quic.IdleTimeoutError
	why := alice.end()
	j.want(errors.As(why, &late), "the connection ended otherwise: %v", why)
	j.orphaned(witness, l, last, idle+orphan)
}

func onlyPings(j *judge) {
	// The other lease's end, later than idle and orphan time together, is the clock.
	witness, alice := j.witness(), j.connect(wishes{})
	kept := alice.alloc(longTtl)
	clock := witness.alongside(j, 2*(idle+orphan))
	witness.hear(clock)
	j.want(alice.isOpen(), "the connection ended: %v", alice.why)
	j.want(alice.holds(kept), "a lease whose client pings ended")
	alice.revoke(kept)
}

// alongside is a lease of another client that ends after this time.
func (p *peer) alongside(j *judge, after time.Duration) lease {
	return j.connect(wishes{who: "bob"}).alloc(uint64(after / time.Millisecond))
}

func clientLeaves(j *judge) {
	witness, alice := j.witness(), j.connect(wishes{})
	last := time.Now()
	l := alice.alloc(longTtl)
	alice.leave()
	j.orphaned(witness, l, last, orphan)
}

// serverKilled: a client that keeps in touch hears from the next server that it does not know it,
// long before its own idle time; HELLO then says what became of its leases.
func serverKilled(j *judge) {
	quiet, waiting, silent := j.connect(wishes{}), j.connect(wishes{}), j.connect(wishes{who: "bob"})
	was := quiet.hello.incarnation
	l, his := quiet.alloc(longTtl), silent.alloc(longTtl)
	j.please("kill")
	j.please("start")
	started := time.Now()
	for _, p := range []*peer{quiet, waiting} {
		// quic-go may hold its next PING back while one is unanswered: a request asks at once.
		if stream, err := p.conn.OpenStream(); err == nil {
			stream.Write(p.request(opStatus, numbers(0)).encode())
		}
		why := p.end()
		j.note("learnt of it %v after it was back: %v", time.Since(started), why)
		var reset *quic.StatelessResetError
		j.want(errors.As(why, &reset), "it learnt otherwise: %v", why)
	}
	again := j.connect(wishes{known: was})
	j.want(again.hello.incarnation != was, "the same incarnation")
	f := expects(j, again.notices, "SERVER_RESTARTED")
	// The two notices are on streams of their own, and may come in either order.
	other := expects(j, again.notices, "the notice of the lease")
	if f.op != opRestarted {
		f, other = other, f
	}
	j.equal(f.op, uint16(opRestarted), "the notice's op")
	j.equal(le.Uint64(f.body[0:]), again.hello.incarnation, "incarnation")
	j.equal(le.Uint64(f.body[8:]), was, "known_incarnation")
	wanted := ending{l, 0, tornDown, byFunctionReset, causeRestart}
	j.note("%v", other)
	j.equal(noticeOf(other), wanted, "how the lease ended")
	j.equal(again.revoke(l), wanted, "what a revoke of it comes to")
	back := j.connect(wishes{who: "bob"})
	j.equal(back.revoke(his).cause, uint8(causeRestart), "the cause of another tenant's end")
	j.equal(len(back.notices), 0, "notices to who names no incarnation")
}

func serverEnds(j *judge) {
	alice, bob := j.connect(wishes{}), j.connect(wishes{who: "bob"})
	l := alice.alloc(longTtl)
	j.please("end")
	told := alice.hear(l)
	j.equal(told.op, uint16(opRevoked), "the notice's op")
	j.equal(noticeOf(told), ending{l, 0, tornDown, byDestroyMkey, causeServer}, "the notice")
	alice.closedWith(closeDone)
	bob.closedWith(closeDone)
	j.please("start")
	j.equal(j.connect(wishes{}).revoke(l).cause, uint8(causeServer), "the cause, asked for later")
}
