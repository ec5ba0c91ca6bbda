// SPDX-License-Identifier: BSD-3-Clause

// What the page says of streams: one or many, whole or in pieces, ended or given up.
package main

import (
	"fmt"
	"io"

	quic "github.com/lucas-clemente/quic-go"
)

var streamCases = []testCase{
	{"TwoFramesOnOneStream_AreBothAnswered", twoFrames},
	{"TwentyFramesInOneWrite_AreEachAnswered", twentyFrames},
	{"StreamEach_AreAllAnsweredAtOnce", streamEach},
	{"StreamLeftOpen_IsAnsweredNonetheless", streamLeftOpen},
	{"EmptyStream_IsEndedByTheServer", emptyStream},
	{"FrameInManyPackets_IsOneFrame", frameInManyPackets},
	{"NoticesOnStreamsOfTheirOwn_HearEachOnce", noticesOfTheirOwn},
	{"OneNoticeStreamAtATime_HearsAllTheSame", oneNoticeStream},
	{"NoNoticeStreamAllowed_DelaysNobody", noNoticeStream},
	{"StreamResetWithinAFrame_LeavesTheConnection", resetWithinFrame},
	{"AnswersStopped_RequestIsDoneNonetheless", answersStopped},
	{"UnidirectionalStreamOfTheClient_IsNotAllowed", unidirectional},
}

// answers reads count answers of a stream, by request.
func (p *peer) answers(stream io.Reader, count int) map[uint64]frame {
	all := map[uint64]frame{}
	for i := 0; i < count; i++ {
		f, err := readFrame(stream)
		p.j.must(err, fmt.Sprintf("answer %d of %d", i+1, count))
		_, twice := all[f.id]
		p.j.want(!twice, "request %d is answered twice", f.id)
		all[f.id] = f
	}
	return all
}

func (j *judge) write(stream quic.Stream, b []byte) {
	_, err := stream.Write(b)
	j.must(err, "to write")
}

func (j *judge) ends(stream io.Reader) {
	n, err := stream.Read(make([]byte, 1))
	j.want(n == 0 && err == io.EOF, "the server does not end the stream: %d bytes, %v", n, err)
}

func twoFrames(j *judge) {
	alice := j.connect(wishes{})
	stream := alice.open()
	one, two := alice.request(opAlloc, allocBody(longTtl)), alice.request(opStatus, numbers(0))
	j.write(stream, append(one.encode(), two.encode()...))
	all := alice.answers(stream, 2)
	j.equal(all[one.id].op, uint16(opAlloc|answerBit), "the first answer's op")
	j.equal(all[two.id].op, uint16(opStatus|answerBit), "the second answer's op")
	three := alice.request(opRevoke, nameBody(leaseAt(all[one.id].body), 0))
	j.write(stream, three.encode())
	stream.Close()
	j.equal(revokeOf(alice.answers(stream, 1)[three.id].body).outcome, uint8(tornDown), "outcome")
	j.ends(stream)
}

func twentyFrames(j *judge) {
	alice := j.connect(wishes{})
	stream := alice.open()
	var all []byte
	for i := 0; i < 20; i++ {
		all = append(all, alice.request(opAlloc, allocBody(longTtl)).encode()...)
	}
	j.write(stream, all)
	stream.Close()
	names := map[lease]bool{}
	for _, f := range alice.answers(stream, 20) {
		j.equal(f.op, uint16(opAlloc|answerBit), fmt.Sprint("the op of ", f))
		names[leaseAt(f.body)] = true
	}
	j.ends(stream)
	j.equal(len(names), 20, "different names")
	alice.ask(opRevokeTenant, numbers(ourTenant))
}

func streamEach(j *judge) {
	alice := j.connect(wishes{})
	j.together(requestsAtOnce, func(int) {
		l := alice.alloc(longTtl)
		j.equal(alice.revoke(l).outcome, uint8(tornDown), "outcome")
	})
}

func streamLeftOpen(j *judge) {
	alice := j.connect(wishes{})
	for i := 0; i < 10; i++ {
		stream := alice.open()
		asked := alice.request(opStatus, numbers(0))
		j.write(stream, asked.encode())
		alice.answers(stream, 1)
	}
	alice.ask(opStatus, numbers(0))
}

func emptyStream(j *judge) {
	alice := j.connect(wishes{})
	stream := alice.open()
	stream.Close()
	j.ends(stream)
	alice.ask(opStatus, numbers(0))
}

// frameInManyPackets has an answer between every two bytes, so that no packet has more than one.
func frameInManyPackets(j *judge) {
	alice := j.connect(wishes{})
	stream := alice.open()
	asked := alice.request(opAlloc, allocBody(longTtl))
	for _, b := range asked.encode() {
		alice.ask(opStatus, numbers(0))
		j.write(stream, []byte{b})
	}
	stream.Close()
	l := leaseAt(alice.answers(stream, 1)[asked.id].body)
	j.ends(stream)
	j.equal(alice.revoke(l).outcome, uint8(tornDown), "outcome")
}

// hearsEach revokes 200 leases and wants the watcher to hear of each once.
func hearsEach(j *judge, holder, watcher *peer) {
	const count = 200
	watcher.ask(opWatch, numbers(holder.hello.tenant))
	told := map[lease]int{}
	for i := 0; i < count; i++ {
		l := holder.alloc(longTtl)
		holder.revoke(l)
		told[l] = 0
	}
	for heard := 0; heard < count; heard++ {
		f := expects(j, watcher.notices, "a notice")
		j.equal(f.op, uint16(opRevoked), fmt.Sprint("the op of ", f))
		times, known := told[noticeOf(f).lease]
		j.want(known, "a notice of a lease of nobody")
		j.equal(times, 0, "how often it was heard before")
		told[noticeOf(f).lease]++
	}
}

func noticesOfTheirOwn(j *judge) {
	hearsEach(j, j.connect(wishes{who: "bob"}), j.connect(wishes{who: "bob"}))
}

func oneNoticeStream(j *judge) {
	narrow := func(c *quic.Config) { c.MaxIncomingUniStreams = 1 }
	hearsEach(j, j.connect(wishes{who: "bob"}), j.connect(wishes{who: "bob", quic: narrow}))
}

func noNoticeStream(j *judge) {
	deaf := j.connect(wishes{quic: func(c *quic.Config) { c.MaxIncomingUniStreams = -1 }})
	alice := j.connect(wishes{})
	deaf.ask(opWatch, numbers(ourTenant))
	for i := 0; i < 50; i++ {
		l := deaf.alloc(longTtl)
		j.equal(deaf.revoke(l).outcome, uint8(tornDown), "the outcome that the deaf one is told")
	}
	l := alice.alloc(longTtl)
	alice.revoke(l)
	alice.hear(l)
	j.equal(len(deaf.notices), 0, "notices without a stream for them")
}

// resetWithinFrame: the page speaks of streams that end; one given up has no frame to answer.
func resetWithinFrame(j *judge) {
	alice := j.connect(wishes{})
	for i := 0; i < 50; i++ {
		stream := alice.open()
		j.write(stream, alice.request(opStatus, numbers(0)).encode()[:i%24])
		stream.CancelWrite(quic.StreamErrorCode(i))
	}
	for i := 0; i < 50; i++ {
		stream := alice.open()
		j.write(stream, alice.request(opStatus, numbers(0)).encode()[:i%24])
		stream.CancelRead(0)
		stream.CancelWrite(0)
	}
	alice.ask(opStatus, numbers(0))
	j.want(alice.isOpen(), "the connection ended: %v", alice.why)
}

func answersStopped(j *judge) {
	bob, witness := j.connect(wishes{who: "bob"}), j.connect(wishes{who: "bob"})
	witness.ask(opRevokeTenant, numbers(otherTenant))
	witness.ask(opWatch, numbers(otherTenant))
	const count = 40
	for i := 0; i < count; i++ {
		stream := bob.open()
		stream.CancelRead(0)
		j.write(stream, bob.request(opAlloc, allocBody(longTtl)).encode())
		stream.Close()
	}
	// Requests may be answered in any order, so the last answer says nothing of the others.
	for len(bob.list(otherTenant)) < count {
		bob.ask(opStatus, numbers(0))
		j.want(bob.isOpen(), "the connection ended: %v", bob.why)
	}
	answer := bob.ask(opRevokeTenant, numbers(otherTenant))
	j.equal(le.Uint32(answer[8:]), uint32(count), "torn_down")
}

func unidirectional(j *judge) {
	alice := j.connect(wishes{})
	stream, err := alice.conn.OpenUniStream()
	j.want(err != nil, "the server lets %v be opened", stream)
	alice.seen.mutex.Lock()
	defer alice.seen.mutex.Unlock()
	j.note("parameters: %+v", alice.seen.parameters)
	j.equal(int64(alice.seen.parameters.MaxUniStreamNum), int64(0), "initial_max_streams_uni")
}
