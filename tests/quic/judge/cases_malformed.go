// SPDX-License-Identifier: BSD-3-Clause

// Frames that are not frames: what is answered, and that the connection ends.
package main

import (
	"errors"
	"fmt"
	"io"
	"time"
)

var malformedCases = []testCase{
	{"LengthBelowTheHeader_IsRefused", malformed(bad{
		bytes: headerOf(15, opStatus, 1, 77), code: codeMalformed, anyID: true,
	})},
	{"LengthZero_IsRefused", malformed(bad{
		bytes: headerOf(0, opStatus, 1, 77), code: codeMalformed, anyID: true,
	})},
	{"LengthBeyondAFrame_IsRefused", malformed(bad{
		bytes: headerOf(4097, opStatus, 1, 77), code: codeMalformed, anyID: true,
	})},
	{"LengthOfAllBits_IsRefused", malformed(bad{
		bytes: headerOf(0xFFFFFFFF, opStatus, 1, 77), code: codeMalformed, anyID: true,
	})},
	{"LengthLongerThanTheOps_IsRefused", malformed(bad{
		bytes: append(headerOf(32, opStatus, 1, 77), make([]byte, 16)...), code: codeMalformed,
		id: 77, op: opStatus,
	})},
	{"LengthShorterThanTheOps_IsRefused", malformed(bad{
		bytes: append(headerOf(20, opStatus, 1, 77), make([]byte, 4)...), code: codeMalformed,
		id: 77, op: opStatus,
	})},
	{"OtherVersion_IsRefused", malformed(bad{
		bytes: append(headerOf(24, opStatus, 2, 77), make([]byte, 8)...), code: codeVersion,
		id: 77, op: opStatus,
	})},
	{"VersionZero_IsRefused", malformed(bad{
		bytes: append(headerOf(24, opStatus, 0, 77), make([]byte, 8)...), code: codeVersion,
		id: 77, op: opStatus,
	})},
	{"ReservedByteOfAlloc_IsRefused", malformed(bad{
		bytes: withByte(frame{opAlloc, 77, allocBody(longTtl)}, 55, 1), code: codeMalformed,
		id: 77, op: opAlloc,
	})},
	{"ReservedByteOfRevoke_IsRefused", malformed(bad{
		bytes: withByte(frame{opRevoke, 77, nameBody(lease{1, 1}, 0)}, 17, 0x80),
		code:  codeMalformed, id: 77, op: opRevoke,
	})},
	{"BytesBehindAFrame_AreRefused", malformed(bad{
		bytes:   append(frame{opStatus, 77, numbers(0)}.encode(), 1, 2, 3, 4, 5),
		answers: 1, code: codeMalformed, ends: true,
	})},
	{"StreamEndedWithinABody_IsRefused", malformed(bad{
		bytes: frame{opStatus, 77, numbers(0)}.encode()[:20], code: codeMalformed, ends: true,
		id: 77, op: opStatus,
	})},
	{"StreamEndedBehindTheHeader_IsRefused", malformed(bad{
		bytes: headerOf(24, opStatus, 1, 77), code: codeMalformed, ends: true,
		id: 77, op: opStatus,
	})},
	{"StreamEndedWithinAHeader_IsRefused", malformed(bad{
		bytes: headerOf(24, opStatus, 1, 77)[:10], code: codeMalformed, ends: true,
	})},
	{"StreamEndedAfterAByte_IsRefused", malformed(bad{
		bytes: []byte{24}, code: codeMalformed, ends: true,
	})},
	{"MalformedHello_IsRefused", malformed(bad{
		bytes: append(headerOf(24, opHello, 1, 77), make([]byte, 8)...), code: codeMalformed,
		id: 77, op: opHello, before: true,
	})},
	{"RequestBeforeHello_IsRefused", beforeHello},
	{"HelloTwice_IsRefused", helloTwice},
	{"RequestNumberZero_IsAnswered", requestZero},
	{"AnswersAndNoticesFromAClient_AreUnknownOps", serversOps},
}

type bad struct {
	bytes   []byte
	before  bool // HELLO
	ends    bool // the stream, behind the bytes
	answers int  // of good frames in front
	code    uint16
	id      uint64
	op      uint16
	anyID   bool // a header whose length is none: the page leaves open whether it could be read
}

func withByte(f frame, at int, value byte) []byte {
	f.body[at] = value
	return f.encode()
}

// malformed makes a case of bytes: the refusal reaches the client, on the stream of what it
// refuses, and then the connection ends; the server goes on.
func malformed(b bad) func(*judge) {
	return func(j *judge) {
		alice := j.connect(wishes{silent: b.before})
		stream := alice.open()
		j.write(stream, b.bytes)
		if b.ends {
			stream.Close()
		}
		for i := 0; i < b.answers; i++ {
			f, err := readFrame(stream)
			j.must(err, "the answer to the good frame in front")
			j.want(f.op != opRefused, "the good frame in front: %v", f)
		}
		f, err := readFrame(stream)
		j.must(err, "the refusal")
		j.note("%v", f)
		j.equal(f.op, uint16(opRefused), "the answer's op")
		j.equal(f.refusal().code, b.code, fmt.Sprint("the code of ", f))
		if !b.anyID {
			j.equal(f.id, b.id, "the refusal's request_id")
			j.equal(f.refusal().op, b.op, "the op that was refused")
		}
		j.note("closed: %v", alice.end())
		var late interface{ Timeout() bool }
		j.want(!errors.As(alice.why, &late) || !late.Timeout(), "only time ended it: %v", alice.why)
		j.connect(wishes{}).ask(opStatus, numbers(0))
	}
}

func beforeHello(j *judge) {
	alice := j.connect(wishes{silent: true})
	alice.refused(opStatus, numbers(0), codeHelloFirst)
	j.noteWhetherOpen(alice)
}

func helloTwice(j *judge) {
	alice := j.connect(wishes{})
	f, err := alice.call(opHello, helloBody(0, "again"))
	j.must(err, "the second HELLO")
	j.note("HELLO twice: %v", f)
	j.equal(f.op, uint16(opRefused), "the answer's op")
	j.noteWhetherOpen(alice)
}

func requestZero(j *judge) {
	alice := j.connect(wishes{})
	stream := alice.open()
	j.write(stream, frame{opStatus, 0, numbers(0)}.encode())
	f, err := readFrame(stream)
	j.must(err, "the answer")
	j.note("request 0: %v", f)
	j.equal(f.id, uint64(0), "request_id")
	j.noteWhetherOpen(alice)
}

func serversOps(j *judge) {
	for _, op := range []uint16{opStatus | answerBit, opRevoked, opRefused, 0, 0xFFFF} {
		alice := j.connect(wishes{})
		stream := alice.open()
		j.write(stream, frame{op, 5, numbers(0)}.encode())
		f, err := readFrame(stream)
		j.must(err, fmt.Sprintf("the answer to op %#x", op))
		j.note("%v", f)
		j.equal(f.op, uint16(opRefused), "the answer's op")
		j.equal(f.refusal().code, uint16(codeUnknownOp), fmt.Sprint("the code of ", f))
		j.noteWhetherOpen(alice)
	}
}

// noteWhetherOpen says what the page does not: whether a refusal ended the connection.
func (j *judge) noteWhetherOpen(p *peer) {
	if !j.verbose {
		return
	}
	stream := p.open()
	stream.SetDeadline(time.Now().Add(5 * time.Second))
	stream.Write(p.request(opStatus, numbers(0)).encode())
	f, err := readFrame(stream)
	if err == nil || err == io.EOF {
		j.note("afterwards: %v", f)
	} else {
		j.note("afterwards: %v", err)
	}
}
