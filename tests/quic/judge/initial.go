// SPDX-License-Identifier: BSD-3-Clause

// Initial packets made by hand (RFC 9000, 17.2.2; RFC 9001, 5), for a ClientHello that no QUIC
// library would send: one that offers no TLS 1.3. It is told whether the server goes on.
package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/hkdf"
)

type clientHello struct {
	most      uint16 // the newest TLS that it offers
	protocols []string
}

const (
	transportParametersExtension = 0x39
	initialSourceConnectionID    = 0x0f
)

// handMade is a case: the server answers this ClientHello, or closes with an alert of TLS.
func handMade(hello clientHello, isAnswered bool) func(*judge) {
	return func(j *judge) {
		answered, closed := j.greet(hello)
		j.note("answered %v, closed with %#x", answered, closed)
		if isAnswered {
			j.want(answered && closed == 0, "a good ClientHello is closed with %#x", closed)
		} else {
			j.want(!answered, "the server goes on")
			j.want(closed >= 0x100 && closed < 0x200, "not an alert: %#x", closed)
		}
		j.connect(wishes{}).ask(opStatus, numbers(0))
	}
}

// message has Go's TLS write a ClientHello, and adds the extension that QUIC wants in it.
func (h clientHello) message(scid []byte) ([]byte, error) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		tls.Client(theirs, &tls.Config{
			ServerName: "localhost", MinVersion: tls.VersionTLS12, MaxVersion: h.most,
			NextProtos: h.protocols,
		}).Handshake()
		theirs.Close()
	}()
	record := make([]byte, 5)
	if _, err := io.ReadFull(ours, record); err != nil {
		return nil, err
	}
	m := make([]byte, binary.BigEndian.Uint16(record[3:]))
	if _, err := io.ReadFull(ours, m); err != nil {
		return nil, err
	}
	parameters := append([]byte{initialSourceConnectionID, byte(len(scid))}, scid...)
	extension := []byte{0, transportParametersExtension, 0, byte(len(parameters))}
	extension = append(extension, parameters...)

	// Behind type, length, version and random: session id, suites and compressions, with lengths.
	at := 1 + 3 + 2 + 32
	at += 1 + int(m[at])
	at += 2 + int(binary.BigEndian.Uint16(m[at:]))
	at += 1 + int(m[at])
	was := binary.BigEndian.Uint16(m[at:])
	binary.BigEndian.PutUint16(m[at:], was+uint16(len(extension)))
	m = append(m, extension...)
	m[1], m[2], m[3] = 0, byte((len(m)-4)>>8), byte(len(m)-4)
	return m, nil
}

// protection is one side's keys of Initial packets.
type protection struct {
	aead cipher.AEAD
	iv   []byte
	mask cipher.Block
}

func expand(secret []byte, label string, length int) []byte {
	label = "tls13 " + label
	info := append([]byte{byte(length >> 8), byte(length), byte(len(label))}, label...)
	out := make([]byte, length)
	io.ReadFull(hkdf.Expand(sha256.New, secret, append(info, 0)), out)
	return out
}

func protectionOf(dcid []byte, side string) protection {
	salt := []byte("\x38\x76\x2c\xf7\xf5\x59\x34\xb3\x4d\x17\x9a\xe6\xa4\xc8\x0c\xad\xcc\xbb\x7f\x0a")
	secret := expand(hkdf.Extract(sha256.New, dcid, salt), side, 32)
	block, _ := aes.NewCipher(expand(secret, "quic key", 16))
	aead, _ := cipher.NewGCM(block)
	mask, _ := aes.NewCipher(expand(secret, "quic hp", 16))
	return protection{aead, expand(secret, "quic iv", 12), mask}
}

func (p protection) nonce(number uint32) []byte {
	nonce := append([]byte{}, p.iv...)
	for i := 0; i < 4; i++ {
		nonce[8+i] ^= byte(number >> (24 - 8*i))
	}
	return nonce
}

// initialPacket has a CRYPTO frame with all of the message; number is written in 4 bytes.
func initialPacket(number uint32, dcid, scid, token, message []byte) []byte {
	b := []byte{0xC3, 0, 0, 0, 1, byte(len(dcid))}
	b = append(b, dcid...)
	b = append(append(b, byte(len(scid))), scid...)
	b = append(binary.BigEndian.AppendUint16(b, 0x4000|uint16(len(token))), token...)
	payload := binary.BigEndian.AppendUint16([]byte{0x06, 0}, 0x4000|uint16(len(message)))
	payload = append(payload, message...)
	for len(b)+6+len(payload)+16 < 1200 {
		payload = append(payload, 0)
	}
	b = binary.BigEndian.AppendUint16(b, 0x4000|uint16(4+len(payload)+16))
	at := len(b)
	b = binary.BigEndian.AppendUint32(b, number)
	p := protectionOf(dcid, "client in")
	b = p.aead.Seal(b, p.nonce(number), payload, append([]byte{}, b...))
	// With four bytes of number, its lowest two bits in the first byte are 3 before and after.
	mask := make([]byte, 16)
	p.mask.Encrypt(mask, b[at+4:at+20])
	b[0] ^= mask[0] & 0x0F
	for i := 0; i < 4; i++ {
		b[at+i] ^= mask[1+i]
	}
	return b
}

func varint(r *bytes.Reader) uint64 {
	first, _ := r.ReadByte()
	value := uint64(first & 0x3F)
	for i := 1; i < 1<<(first>>6); i++ {
		next, _ := r.ReadByte()
		value = value<<8 | uint64(next)
	}
	return value
}

func take(r *bytes.Reader, count uint64) []byte {
	b := make([]byte, count)
	io.ReadFull(r, b)
	return b
}

// longHeader is what every long header begins with; rest is behind it.
func longHeader(datagram []byte) (kind byte, scid []byte, rest *bytes.Reader) {
	rest = bytes.NewReader(datagram)
	take(rest, 5)
	length, _ := rest.ReadByte()
	take(rest, uint64(length))
	length, _ = rest.ReadByte()
	return datagram[0] >> 4 & 3, take(rest, uint64(length)), rest
}

// readInitial opens the Initial packet at the datagram's front, and says whether it has a CRYPTO
// frame, and the code of a CONNECTION_CLOSE.
func readInitial(datagram, dcid []byte) (hasCrypto bool, closed uint64, err error) {
	_, _, r := longHeader(datagram)
	take(r, varint(r))
	length := varint(r)
	at := len(datagram) - r.Len()
	if length < 20 || uint64(r.Len()) < length {
		return false, 0, fmt.Errorf("an Initial packet of length %d", length)
	}
	p := protectionOf(dcid, "server in")
	mask := make([]byte, 16)
	p.mask.Encrypt(mask, datagram[at+4:at+20])
	datagram[0] ^= mask[0] & 0x0F
	bytesOfNumber := int(datagram[0]&3) + 1
	number := uint32(0)
	for i := 0; i < bytesOfNumber; i++ {
		datagram[at+i] ^= mask[1+i]
		number = number<<8 | uint32(datagram[at+i])
	}
	body := at + bytesOfNumber
	plain, err := p.aead.Open(
		nil, p.nonce(number), datagram[body:at+int(length)], datagram[:body])
	if err != nil {
		return false, 0, err
	}
	for f := bytes.NewReader(plain); f.Len() > 0; {
		switch kind := varint(f); kind {
		case 0x00, 0x01: // PADDING, PING
		case 0x02: // ACK
			varint(f)
			varint(f)
			for ranges := 2*varint(f) + 1; ranges > 0; ranges-- {
				varint(f)
			}
		case 0x06: // CRYPTO
			varint(f)
			take(f, varint(f))
			hasCrypto = true
		case 0x1C: // CONNECTION_CLOSE
			return hasCrypto, varint(f), nil
		default:
			return hasCrypto, 0, fmt.Errorf("a frame of type %#x", kind)
		}
	}
	return hasCrypto, 0, nil
}

// greet sends the ClientHello until the server has said yes or no. A first packet without a token
// has to be answered by a Retry.
func (j *judge) greet(hello clientHello) (answered bool, closed uint64) {
	scid, dcid := make([]byte, 8), make([]byte, 8)
	rand.Read(scid)
	rand.Read(dcid)
	message, err := hello.message(scid)
	j.must(err, "a ClientHello")
	socket, err := net.Dial("udp", j.address)
	j.must(err, "a socket")
	defer socket.Close()
	var token []byte
	for number, until := uint32(0), time.Now().Add(patience); time.Now().Before(until); number++ {
		socket.Write(initialPacket(number, dcid, scid, token, message))
		// A packet may be lost, or its answer: after a second it is sent again.
		socket.SetReadDeadline(time.Now().Add(time.Second))
		datagram := make([]byte, 2048)
		n, err := socket.Read(datagram)
		if err != nil || n < 7 || datagram[0]&0x80 == 0 {
			continue
		}
		datagram = datagram[:n]
		kind, theirs, rest := longHeader(datagram)
		switch kind {
		case 3: // Retry: all but the tag of 16 bytes is the token
			j.want(token == nil, "a second Retry")
			token, dcid = take(rest, uint64(rest.Len()-16)), theirs
		case 0:
			j.want(token != nil, "no Retry")
			answered, closed, err = readInitial(datagram, dcid)
			j.must(err, "the server's Initial packet")
			if answered || closed != 0 {
				return answered, closed
			}
		}
	}
	j.fail("neither answered nor closed")
	return
}
