// SPDX-License-Identifier: BSD-3-Clause

// Leases from grant to outcome, and who may do what.
package main

import (
	"time"
)

var leaseCases = []testCase{
	{"Hello_SaysWhoTheCertificateIs", helloSaysWho},
	{"LeaseGrantedRenewedRevoked_HolderHearsTornDown", leaseToOutcome},
	{"RevokedAgain_OutcomeIsRepeated", revokedAgain},
	{"WatcherOfTheTenant_HearsAnothersEnd", watcherHears},
	{"AnothersLease_IsNotFound", anothersLease},
	{"OperatorRevokes_CauseIsOperator", operatorRevokes},
	{"RevokeTenant_EachLeaseHasItsOutcome", revokeTenant},
	{"LeaseNotRenewed_Expires", leaseExpires},
	{"RenewedByAnotherConnection_OutlivesItsHolder", renewedByAnother},
	{"Observer_SeesAllAndChangesNothing", observerSees},
	{"ChallengeWhereNoneIsSet_IsNoneAndToTheHolderAlone", challengeIsNone},
	{"ListOfMoreThanAFrame_GoesOnByCursor", listGoesOn},
	{"Status_TellsAClientOfItsTenantAlone", statusTells},
	{"ValuesOutOfRange_AreRefusedAndTheConnectionStays", valuesRefused},
}

// An hour: a lease that ends before was ended.
const longTtl = 3600 * 1000

func helloSaysWho(j *judge) {
	for who, wanted := range map[string]struct {
		tenant uint64
		role   uint8
	}{
		"alice": {ourTenant, roleClient}, "bob": {otherTenant, roleClient},
		"olga": {1, roleOperator}, "oscar": {1, roleObserver}, "listed": {ourTenant, roleClient},
	} {
		p := j.connect(wishes{who: who})
		j.equal(p.hello.tenant, wanted.tenant, "the tenant of "+who)
		j.equal(p.hello.role, wanted.role, "the role of "+who)
		j.equal(p.hello.orphanMs, uint64(orphan/time.Millisecond), "orphan_ms")
		j.want(p.hello.incarnation != 0, "the incarnation is 0, which means never")
	}
}

func leaseToOutcome(j *judge) {
	alice := j.connect(wishes{})
	answer := alice.ask(opAlloc, allocBody(longTtl))
	l := leaseAt(answer)
	j.want(le.Uint64(answer[24:]) >= 4096, "%d bytes for 4096", le.Uint64(answer[24:]))
	j.equal(le.Uint64(answer[32:]), uint64(longTtl), "ttl_ms")
	j.equal(answer[78], byte(1), "access")
	j.want(alice.holds(l), "LIST does not have it")
	j.equal(le.Uint64(alice.ask(opRenew, nameBody(l, longTtl/2))), uint64(longTtl/2), "the new ttl")
	j.equal(alice.revoke(l), ending{l, 0, tornDown, byDestroyMkey, causeHolder}, "the outcome")
	told := alice.hear(l)
	j.equal(told.op, uint16(opRevoked), "the notice's op")
	j.equal(noticeOf(told), ending{l, 0, tornDown, byDestroyMkey, causeHolder}, "the notice")
	j.equal(noticeTenant(told), uint64(ourTenant), "the notice's tenant")
	j.want(!alice.holds(l), "LIST has it still")
}

func revokedAgain(j *judge) {
	alice := j.connect(wishes{})
	l := alice.alloc(longTtl)
	first := alice.revoke(l)
	answer, err := alice.call(opRevoke, nameBody(l, 0))
	j.must(err, "the second revoke")
	j.note("revoked again: %v", answer)
	j.equal(answer.op, uint16(opRevoke|answerBit), "the answer's op")
	j.equal(revokeOf(answer.body), first, "the outcome, asked for again")
}

func watcherHears(j *judge) {
	holder, watcher := j.connect(wishes{}), j.connect(wishes{})
	stranger := j.connect(wishes{who: "bob"})
	j.equal(le.Uint64(watcher.ask(opWatch, numbers(ourTenant))), watcher.hello.incarnation, "WATCH")
	stranger.ask(opWatch, numbers(otherTenant))
	l := holder.alloc(longTtl)
	outcome := holder.revoke(l)
	j.equal(noticeOf(watcher.hear(l)), outcome, "what the watcher hears")
	// Notices keep no order, but bob's own comes after whatever he would have been sent of hers.
	his := stranger.alloc(longTtl)
	stranger.revoke(his)
	j.equal(noticeOf(expects(j, stranger.notices, "bob's own notice")).lease, his, "what bob hears")
}

func anothersLease(j *judge) {
	alice, bob := j.connect(wishes{}), j.connect(wishes{who: "bob"})
	l := alice.alloc(longTtl)
	j.equal(bob.revoke(l).outcome, uint8(notFound), "what bob's revoke comes to")
	bob.refused(opRenew, nameBody(l, longTtl), 11)
	bob.refused(opWatch, numbers(ourTenant), codeNotAllowed)
	bob.refused(opWatch, numbers(everyTenant), codeNotAllowed)
	bob.refused(opList, numbers(ourTenant, 0), codeNotAllowed)
	bob.refused(opRevokeTenant, numbers(ourTenant), codeNotAllowed)
	j.want(alice.holds(l), "bob has ended alice's lease")
	j.equal(alice.revoke(l).outcome, uint8(tornDown), "the outcome")
}

func operatorRevokes(j *judge) {
	alice, olga := j.connect(wishes{}), j.connect(wishes{who: "olga"})
	olga.ask(opWatch, numbers(everyTenant))
	l := alice.alloc(longTtl)
	outcome := olga.revoke(l)
	j.equal(outcome, ending{l, 0, tornDown, byDestroyMkey, causeOperator}, "the outcome")
	j.equal(noticeOf(alice.hear(l)), outcome, "what the holder hears")
	j.equal(noticeOf(olga.hear(l)), outcome, "what the operator hears")
}

func revokeTenant(j *judge) {
	alice, olga := j.connect(wishes{}), j.connect(wishes{who: "olga"})
	olga.ask(opRevokeTenant, numbers(ourTenant))
	var all []lease
	for i := 0; i < 30; i++ {
		all = append(all, alice.alloc(longTtl))
	}
	answer := olga.ask(opRevokeTenant, numbers(ourTenant))
	j.equal(le.Uint32(answer[8:]), uint32(len(all)), "torn_down")
	j.equal(le.Uint32(answer[12:]), uint32(0), "fenced")
	heard := map[lease]bool{}
	for len(heard) < len(all) {
		heard[noticeOf(expects(j, alice.notices, "a notice")).lease] = true
	}
	for _, l := range all {
		j.want(heard[l], "nothing is heard of %v", l)
	}
	olga.refused(opRevokeTenant, numbers(everyTenant), codeInvalid)
}

func leaseExpires(j *judge) {
	alice := j.connect(wishes{})
	started := time.Now()
	l := alice.alloc(200)
	told := alice.hear(l)
	j.equal(told.op, uint16(opExpired), "the notice's op")
	j.equal(noticeOf(told), ending{l, 0, tornDown, byDestroyMkey, causeExpired}, "the notice")
	j.want(time.Since(started) >= 200*time.Millisecond, "ended after %v", time.Since(started))
	alice.refused(opRenew, nameBody(l, longTtl), 11)
}

func renewedByAnother(j *judge) {
	first, second, witness := j.connect(wishes{}), j.connect(wishes{}), j.connect(wishes{})
	witness.ask(opWatch, numbers(ourTenant))
	kept, left := first.alloc(longTtl), first.alloc(longTtl)
	second.ask(opRenew, nameBody(kept, longTtl))
	first.leave()
	j.equal(noticeOf(witness.hear(left)).cause, uint8(causeExpired), "the cause of the orphan's end")
	if !second.holds(kept) {
		j.note("%v", noticeOf(witness.hear(kept)))
	}
	j.want(second.holds(kept), "what another connection renewed ended with its first holder")
	second.revoke(kept)
}

func observerSees(j *judge) {
	alice, oscar := j.connect(wishes{}), j.connect(wishes{who: "oscar"})
	oscar.ask(opWatch, numbers(everyTenant))
	l := alice.alloc(longTtl)
	seen := false
	for _, r := range oscar.list(everyTenant) {
		seen = seen || (r.lease == l && r.tenant == ourTenant && r.state == 1 && r.outcome == 3)
	}
	j.want(seen, "LIST of every tenant does not have it ACTIVE, without an outcome")
	oscar.refused(opAlloc, allocBody(longTtl), codeNotAllowed)
	oscar.refused(opRenew, nameBody(l, longTtl), codeNotAllowed)
	oscar.refused(opRevoke, nameBody(l, 0), codeNotAllowed)
	oscar.refused(opRevokeTenant, numbers(ourTenant), codeNotAllowed)
	outcome := alice.revoke(l)
	j.equal(noticeOf(oscar.hear(l)), outcome, "what the observer hears")
}

func challengeIsNone(j *judge) {
	alice, other := j.connect(wishes{}), j.connect(wishes{})
	bob, olga := j.connect(wishes{who: "bob"}), j.connect(wishes{who: "olga"})
	l := alice.alloc(longTtl)
	answer := alice.ask(opChallenge, numbers(l.id, l.epoch))
	j.equal(le.Uint64(answer[0:]), uint64(0), "the nonce")
	j.equal(le.Uint64(answer[8:]), uint64(0), "left_ms")
	j.equal(answer[16], byte(0), "challenge")
	for _, p := range []*peer{other, bob, olga} {
		p.refused(opChallenge, numbers(l.id, l.epoch), codeNotFound)
	}
	alice.refused(opChallenge, numbers(l.id, l.epoch+1), codeNotFound)
	alice.revoke(l)
	alice.refused(opChallenge, numbers(l.id, l.epoch), codeNotFound)
}

func listGoesOn(j *judge) {
	alice := j.connect(wishes{})
	wanted := map[lease]bool{}
	for i := 0; i < 150; i++ {
		wanted[alice.alloc(longTtl)] = true
	}
	times := map[lease]int{}
	for _, r := range alice.list(ourTenant) {
		times[r.lease]++
		j.equal(times[r.lease], 1, "how often LIST has one lease")
	}
	for l := range wanted {
		j.equal(times[l], 1, "how often LIST has a lease that is held")
	}
	alice.ask(opRevokeTenant, numbers(ourTenant))
	j.equal(len(alice.list(ourTenant)), 0, "rows after all are revoked")
}

func statusTells(j *judge) {
	bob, olga := j.connect(wishes{who: "bob"}), j.connect(wishes{who: "olga"})
	before := le.Uint32(bob.ask(opStatus, numbers(0))[52:])
	l := bob.alloc(longTtl)
	status := bob.ask(opStatus, numbers(0))
	j.equal(le.Uint64(status[0:]), bob.hello.incarnation, "the incarnation")
	j.equal(le.Uint32(status[52:]), before+1, "held")
	j.equal(le.Uint32(status[48:]), bob.hello.mostLeases, "slots")
	for name, at := range map[string]int{
		"granted": 16, "torn_down": 24, "fenced": 32, "longest_revoke_us": 40,
	} {
		j.equal(le.Uint64(status[at:]), uint64(0), "what a client is told of "+name)
	}
	for name, at := range map[string]int{"resting": 56, "out": 60, "connections": 64} {
		j.equal(le.Uint32(status[at:]), uint32(0), "what a client is told of "+name)
	}
	status = olga.ask(opStatus, numbers(0))
	j.want(le.Uint64(status[16:]) > 0, "an operator is told of no grant")
	j.want(le.Uint32(status[64:]) >= 2, "an operator is told of %d connections", status[64])
	j.want(le.Uint32(status[68:])&4 != 0, "the model is not said to be emulated")
	bob.revoke(l)
}

// valuesRefused: what is refused for its value is no malformed frame, and ends nothing.
func valuesRefused(j *judge) {
	alice := j.connect(wishes{})
	for name, change := range map[string]func(b []byte){
		"no bytes":       func(b []byte) { le.PutUint64(b, 0) },
		"an odd MTU":     func(b []byte) { le.PutUint16(b[38:], 1500) },
		"no access":      func(b []byte) { b[48] = 0 },
		"access 8":       func(b []byte) { b[48] = 8 },
		"ack_timeout 0":  func(b []byte) { b[49] = 0 },
		"ack_timeout 32": func(b []byte) { b[49] = 32 },
		"retry_count 8":  func(b []byte) { b[50] = 8 },
	} {
		body := allocBody(longTtl)
		change(body)
		answer, err := alice.call(opAlloc, body)
		j.must(err, name)
		j.note("%s: %v", name, answer)
		j.equal(answer.op, uint16(opRefused), "the answer to "+name)
		j.equal(answer.refusal().code, uint16(codeInvalid), "the code for "+name)
	}
	l := alice.alloc(longTtl)
	alice.refused(opRevoke, nameBody(l, 6), codeInvalid)
	alice.refused(opRevoke, nameBody(l, 3), codeNotAllowed)
	alice.refused(0x0299, nil, codeUnknownOp)
	alice.revoke(l)
	j.want(alice.isOpen(), "the connection ended: %v", alice.why)
}
