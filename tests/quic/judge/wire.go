// SPDX-License-Identifier: BSD-3-Clause

// Frames and bodies of docs/wire.md, by the offsets that it gives: a number is that page's.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
)

const (
	opHello        = 0x0201
	opAlloc        = 0x0202
	opRenew        = 0x0203
	opList         = 0x0204
	opWatch        = 0x0205
	opStatus       = 0x0206
	opChallenge    = 0x0208
	opRevoke       = 0x020A
	opRevokeTenant = 0x020B
	opRefused      = 0x8000
	opRevoked      = 0x4201
	opExpired      = 0x4202
	opRestarted    = 0x4203
	answerBit      = 0x8000

	headerBytes = 16
	mostBytes   = 4096
	rowBytes    = 56
)

const (
	tornDown = 0
	notFound = 2

	byDestroyMkey   = 1
	byFunctionReset = 6

	causeHolder   = 1
	causeOperator = 2
	causeExpired  = 3
	causeServer   = 4
	causeRestart  = 5

	roleClient   = 1
	roleOperator = 2
	roleObserver = 3

	codeMalformed   = 1
	codeUnknownOp   = 2
	codeVersion     = 3
	codeHelloFirst  = 4
	codeInvalid     = 5
	codeNotAllowed  = 6
	codeNoResources = 8
	codeNotFound    = 11

	closeDone       = 0
	closeNotAllowed = 1
	closeUnread     = 2
	closeUnfinished = 3

	everyTenant = ^uint64(0)
)

// The lengths of answers and notices; LIST's is of its fixed part.
var bodyBytes = map[uint16]int{
	opHello | answerBit: 56, opAlloc | answerBit: 80, opRenew | answerBit: 8,
	opRevoke | answerBit: 32, opRevokeTenant | answerBit: 16, opList | answerBit: 16,
	opWatch | answerBit: 8, opStatus | answerBit: 168, opChallenge | answerBit: 24,
	opRevoked: 40, opExpired: 40, opRestarted: 16, opRefused: 128,
}

var le = binary.LittleEndian

type frame struct {
	op   uint16
	id   uint64
	body []byte
}

func (f frame) String() string {
	if f.op == opRefused && len(f.body) == 128 {
		r := f.refusal()
		return fmt.Sprintf("REFUSED %d of op %#x for request %d: %s", r.code, r.op, f.id, r.text)
	}
	return fmt.Sprintf("op %#06x request %d body %x", f.op, f.id, f.body)
}

// headerOf makes a header of any values, right or wrong.
func headerOf(length uint32, op, version uint16, id uint64) []byte {
	b := make([]byte, headerBytes)
	le.PutUint32(b[0:], length)
	le.PutUint16(b[4:], op)
	le.PutUint16(b[6:], version)
	le.PutUint64(b[8:], id)
	return b
}

func (f frame) encode() []byte {
	return append(headerOf(uint32(headerBytes+len(f.body)), f.op, 1, f.id), f.body...)
}

// readFrame reads one frame and holds it to the page: length, version, reserved bytes. io.EOF is a
// stream that ends between frames.
func readFrame(from io.Reader) (frame, error) {
	header := make([]byte, headerBytes)
	if _, err := io.ReadFull(from, header); err != nil {
		return frame{}, err
	}
	length := le.Uint32(header)
	if length < headerBytes || length > mostBytes {
		return frame{}, fmt.Errorf("the server sent a frame of length %d", length)
	}
	if version := le.Uint16(header[6:]); version != 1 {
		return frame{}, fmt.Errorf("the server sent a frame of version %d", version)
	}
	f := frame{op: le.Uint16(header[4:]), id: le.Uint64(header[8:])}
	f.body = make([]byte, length-headerBytes)
	if n, err := io.ReadFull(from, f.body); err != nil && !(err == io.EOF && len(f.body) == 0) {
		return f, fmt.Errorf("the server's frame ends after %d bytes of its body: %w", n, err)
	}
	return f, f.check()
}

func (f frame) check() error {
	bytes, known := bodyBytes[f.op]
	if !known {
		return fmt.Errorf("the server sent an unknown op: %v", f)
	}
	if f.op == opList|answerBit && len(f.body) >= bytes {
		bytes += rowBytes * int(le.Uint32(f.body[8:]))
	}
	if len(f.body) != bytes {
		return fmt.Errorf("a body of %d bytes, not %d: %v", len(f.body), bytes, f)
	}
	for _, at := range map[uint16][]int{
		opHello | answerBit: {53, 54, 55}, opAlloc | answerBit: {79}, opRevoke | answerBit: {31},
		opList | answerBit: {12, 13, 14, 15}, opRevoked: {39}, opExpired: {39},
		opChallenge | answerBit: {17, 18, 19, 20, 21, 22, 23},
	}[f.op] {
		if f.body[at] != 0 {
			return fmt.Errorf("reserved byte %d is %d: %v", at, f.body[at], f)
		}
	}
	if f.op == opRefused {
		return f.refusal().check()
	}
	return nil
}

type refusal struct {
	code, op uint16
	text     string
	raw      []byte
}

func (f frame) refusal() refusal {
	r := refusal{code: le.Uint16(f.body[0:]), op: le.Uint16(f.body[2:]), raw: f.body[4:128]}
	for _, c := range r.raw {
		if c == 0 {
			break
		}
		r.text += string(rune(c))
	}
	return r
}

func (r refusal) check() error {
	for i, c := range r.raw {
		if printable := c >= 0x20 && c < 0x7F; (i < len(r.text)) != printable {
			return fmt.Errorf("a refusal's text is not one line, then zeros: %q", r.raw)
		}
	}
	if r.text == "" {
		return fmt.Errorf("a refusal says nothing, code %d", r.code)
	}
	return nil
}

// ---- Requests ---------------------------------------------------------------------------------

func helloBody(known uint64, name string) []byte {
	b := make([]byte, 40)
	le.PutUint64(b[0:], known)
	copy(b[8:], name)
	return b
}

// allocBody asks for 4096 bytes. Timeout and retries are the least that there are, so that slots
// rest no longer than the server's GRACE.
func allocBody(ttlMs uint64) []byte {
	b := make([]byte, 56)
	le.PutUint64(b[0:], 4096)
	le.PutUint64(b[8:], ttlMs)
	copy(b[16:], net.ParseIP("fe80::99").To16())
	copy(b[32:], []byte{2, 0, 0, 0, 0, 9})
	le.PutUint16(b[38:], 1024)
	le.PutUint32(b[40:], 0x11)
	le.PutUint32(b[44:], 0x123456)
	b[48], b[49], b[50] = 1, 1, 0
	return b
}

func nameBody(l lease, third uint64) []byte {
	b := make([]byte, 24)
	le.PutUint64(b[0:], l.id)
	le.PutUint64(b[8:], l.epoch)
	le.PutUint64(b[16:], third)
	return b
}

func numbers(values ...uint64) []byte {
	b := make([]byte, 8*len(values))
	for i, value := range values {
		le.PutUint64(b[8*i:], value)
	}
	return b
}

// ---- Answers ----------------------------------------------------------------------------------

type lease struct{ id, epoch uint64 }

func leaseAt(b []byte) lease { return lease{le.Uint64(b[0:]), le.Uint64(b[8:])} }

type helloAnswer struct {
	incarnation, tenant, mostBytes, defaultTtlMs, mostTtlMs, orphanMs uint64
	mostLeases                                                        uint32
	role                                                              uint8
}

func helloOf(b []byte) helloAnswer {
	return helloAnswer{
		le.Uint64(b[0:]), le.Uint64(b[8:]), le.Uint64(b[16:]), le.Uint64(b[24:]),
		le.Uint64(b[32:]), le.Uint64(b[40:]), le.Uint32(b[48:]), b[52],
	}
}

// What an answer to a revoke and a notice both say of how a lease ended.
type ending struct {
	lease
	failedMask             uint32
	outcome, memory, cause uint8
}

func revokeOf(b []byte) ending {
	return ending{leaseAt(b), le.Uint32(b[24:]), b[28], b[29], b[30]}
}

func noticeOf(f frame) ending {
	return ending{leaseAt(f.body), le.Uint32(f.body[32:]), f.body[36], f.body[37], f.body[38]}
}

func noticeTenant(f frame) uint64 { return le.Uint64(f.body[16:]) }

type row struct {
	lease
	tenant, bytes, ageMs, leftMs  uint64
	failedMask                    uint32
	state, outcome, memory, cause uint8
}

func rowsOf(b []byte) (next uint64, rows []row) {
	for at := 16; at < len(b); at += rowBytes {
		r := b[at:]
		rows = append(rows, row{
			leaseAt(r), le.Uint64(r[16:]), le.Uint64(r[24:]), le.Uint64(r[32:]), le.Uint64(r[40:]),
			le.Uint32(r[48:]), r[52], r[53], r[54], r[55],
		})
	}
	return le.Uint64(b[0:]), rows
}
