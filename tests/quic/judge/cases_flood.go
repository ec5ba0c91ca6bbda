// SPDX-License-Identifier: BSD-3-Clause

// Clients that send too much, read too little, or are many.
package main

import (
	"time"

	quic "github.com/lucas-clemente/quic-go"
)

var floodCases = []testCase{
	{"TwoHundredHalfFrames_WaitAndAreAnswered", halfFrames},
	{"MoreThan64KiBOfHalfFrames_AreClosedWith3", tooManyHalfFrames},
	{"ClientThatReadsNoAnswers_IsHungUpOnAlone", readsNoAnswers},
	{"MoreRequestsThanAtOnce_AreEachAnsweredOrRefused", manyRequests},
	{"FiftyConnectionsOfTwentyLeases_HaveThemAll", fiftyConnections},
	{"FiftyConnectionsGoneAtOnce_LeavesNothing", fiftyGone},
}

// tryOpen opens a stream if the server lets one more be opened within a moment.
func (p *peer) tryOpen() (quic.Stream, error) {
	stream, err := p.conn.OpenStream()
	if err == nil {
		stream.SetDeadline(time.Now().Add(patience))
	}
	return stream, err
}

// halfFrames: as many streams at once as the server lets be opened, at most 200, each with half a
// request; then the other halves.
func halfFrames(j *judge) {
	alice := j.connect(wishes{})
	type half struct {
		stream quic.Stream
		asked  frame
	}
	for left := 200; left > 0; {
		var halves []half
		for len(halves) < left {
			stream, err := alice.tryOpen()
			if err != nil {
				break
			}
			asked := alice.request(opStatus, numbers(0))
			j.write(stream, asked.encode()[:12])
			halves = append(halves, half{stream, asked})
		}
		j.note("%d half frames at once", len(halves))
		if len(halves) == 0 {
			// The server lets more be opened when it has seen that the last ones are over.
			stream := alice.open()
			stream.Close()
			j.ends(stream)
			continue
		}
		for _, h := range halves {
			j.write(h.stream, h.asked.encode()[12:])
			h.stream.Close()
		}
		for _, h := range halves {
			f := alice.answers(h.stream, 1)[h.asked.id]
			j.equal(f.op, uint16(opStatus|answerBit), f.String())
		}
		left -= len(halves)
	}
}

// tooManyHalfFrames: 4000 bytes on each stream of a frame that says it has 4096. Requests are
// shorter, but a server that waits for the whole of each has to stop somewhere.
func tooManyHalfFrames(j *judge) {
	alice := j.connect(wishes{})
	sent := 0
	for sent <= mostUnfinished+mostBytes && alice.isOpen() {
		stream, err := alice.tryOpen()
		if err != nil {
			j.note("after %d bytes: %v", sent, err)
			break
		}
		b := append(headerOf(mostBytes, opList, 1, 5), make([]byte, 4000-headerBytes)...)
		n, _ := stream.Write(b)
		sent += n
	}
	j.note("%d bytes of half frames", sent)
	alice.closedWith(closeUnfinished)
	j.connect(wishes{}).ask(opStatus, numbers(0))
}

// readsNoAnswers asks for lists of a frame each until the server has had enough, or takes no more.
func readsNoAnswers(j *judge) {
	bob, other := j.connect(wishes{who: "bob"}), j.connect(wishes{who: "bob"})
	for i := 0; i < 72; i++ {
		other.alloc(longTtl)
	}
	stream := bob.open()
	stream.SetDeadline(time.Now().Add(10 * time.Second))
	sent := 0
	for sent < 2*mostUnread/mostBytes*2 {
		f := bob.request(opList, numbers(otherTenant, 0))
		if _, err := stream.Write(f.encode()); err != nil {
			j.note("after %d requests: %v", sent, err)
			break
		}
		sent++
	}
	j.note("%d requests sent, open %v", sent, bob.isOpen())
	// Whatever became of it, nobody else notices.
	l := other.alloc(longTtl)
	j.equal(other.revoke(l).outcome, uint8(tornDown), "another's outcome meanwhile")
	if bob.isOpen() {
		bob.vanish()
	} else {
		bob.closedWith(closeUnread)
	}
	other.ask(opRevokeTenant, numbers(otherTenant))
}

func manyRequests(j *judge) {
	alice := j.connect(wishes{})
	stream := alice.open()
	const count = 10 * requestsAtOnce
	var all []byte
	for i := 0; i < count; i++ {
		all = append(all, alice.request(opStatus, numbers(0)).encode()...)
	}
	go stream.Write(all)
	refused := map[uint16]int{}
	for _, f := range alice.answers(stream, count) {
		if f.op == opRefused {
			refused[f.refusal().code]++
		} else {
			j.equal(f.op, uint16(opStatus|answerBit), f.String())
		}
	}
	j.note("refused by code: %v", refused)
	alice.ask(opStatus, numbers(0))
}

func fiftyConnections(j *judge) {
	olga := j.connect(wishes{who: "olga"})
	olga.ask(opRevokeTenant, numbers(ourTenant))
	j.together(50, func(int) {
		p := j.connect(wishes{})
		var held []lease
		for i := 0; i < 20; i++ {
			held = append(held, p.alloc(longTtl))
		}
		for _, l := range held {
			outcome := p.revoke(l)
			j.equal(outcome, ending{l, 0, tornDown, byDestroyMkey, causeHolder}, "the outcome")
			j.equal(noticeOf(p.hear(l)), outcome, "the notice")
		}
	})
	j.equal(len(olga.list(ourTenant)), 0, "rows afterwards")
}

// fiftyGone: clients that close take nothing with them but what they hold, after orphan_ms.
func fiftyGone(j *judge) {
	oscar := j.connect(wishes{who: "oscar"})
	oscar.ask(opWatch, numbers(everyTenant))
	const clients, each = 50, 20
	j.together(clients, func(int) {
		p := j.connect(wishes{})
		for i := 0; i < each; i++ {
			p.alloc(longTtl)
		}
		p.leave()
	})
	heard := map[lease]bool{}
	for len(heard) < clients*each {
		f := expects(j, oscar.notices, "a notice of each orphan")
		if f.op == opExpired && noticeTenant(f) == ourTenant {
			j.equal(noticeOf(f).cause, uint8(causeExpired), "the cause")
			heard[noticeOf(f).lease] = true
		}
	}
	j.equal(len(oscar.list(ourTenant)), 0, "rows afterwards")
}
