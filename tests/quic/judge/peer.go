// SPDX-License-Identifier: BSD-3-Clause

// One connection: how it is dialled, its streams, and what it hears by itself.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	quic "github.com/lucas-clemente/quic-go"
	"github.com/lucas-clemente/quic-go/logging"
)

const alpn = "portcullis/1"

// wishes says how a connection differs from a plain one of the client alice.
type wishes struct {
	who     string // whose certificate; "none" has none
	known   uint64 // the incarnation that HELLO names
	silent  bool   // no HELLO
	early   bool   // as if there were 0-RTT
	tls     func(*tls.Config)
	quic    func(*quic.Config)
	noTouch bool // sends nothing of itself, so that idle time passes
}

// hole is a socket that can lose all its packets, as a host does whose cable is pulled.
type hole struct {
	socket *net.UDPConn
	isShut atomic.Bool
}

func (h *hole) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := h.socket.ReadFrom(b)
		if err != nil || !h.isShut.Load() {
			return n, from, err
		}
	}
}

func (h *hole) WriteTo(b []byte, to net.Addr) (int, error) {
	if h.isShut.Load() {
		return len(b), nil
	}
	return h.socket.WriteTo(b, to)
}

func (h *hole) Close() error                       { return h.socket.Close() }
func (h *hole) LocalAddr() net.Addr                { return h.socket.LocalAddr() }
func (h *hole) SetDeadline(t time.Time) error      { return h.socket.SetDeadline(t) }
func (h *hole) SetReadDeadline(t time.Time) error  { return h.socket.SetReadDeadline(t) }
func (h *hole) SetWriteDeadline(t time.Time) error { return h.socket.SetWriteDeadline(t) }

// seen is what quic-go tells of a connection's packets.
type seen struct {
	logging.NullTracer
	mutex      sync.Mutex
	hasRetry   bool
	parameters *logging.TransportParameters
}

func (s *seen) TracerForConnection(
	context.Context, logging.Perspective, logging.ConnectionID,
) logging.ConnectionTracer {
	return seenConnection{s, logging.NullConnectionTracer{}}
}

// seenConnection is a type of its own, for both kinds of tracer have methods of the same name.
type seenConnection struct {
	all *seen
	logging.NullConnectionTracer
}

func (s seenConnection) ReceivedRetry(*logging.Header) {
	s.all.mutex.Lock()
	defer s.all.mutex.Unlock()
	s.all.hasRetry = true
}

func (s seenConnection) ReceivedTransportParameters(p *logging.TransportParameters) {
	s.all.mutex.Lock()
	defer s.all.mutex.Unlock()
	s.all.parameters = p
}

type peer struct {
	j       *judge
	conn    quic.Connection
	socket  *hole
	seen    *seen
	hello   helloAnswer
	notices chan frame
	// Closed when the connection is over; why is set before.
	ended chan struct{}
	why   error
	asked atomic.Uint64
}

func (j *judge) path(name string) string { return j.folder + "/" + name }

func (j *judge) tlsConfig(who string) *tls.Config {
	config := &tls.Config{ServerName: "127.0.0.1", NextProtos: []string{alpn}}
	authority, err := os.ReadFile(j.path("pki/ca.pem"))
	j.must(err, "the authority")
	config.RootCAs = x509.NewCertPool()
	j.want(config.RootCAs.AppendCertsFromPEM(authority), "no authority in pki/ca.pem")
	if who != "none" {
		pair, err := tls.LoadX509KeyPair(j.path(who+".pem"), j.path(who+".key"))
		j.must(err, "the certificate of "+who)
		// Go would leave out a certificate of an authority that the server does not name.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &pair, nil
		}
	}
	return config
}

// dial connects, and says HELLO unless told otherwise. A client knows only when it is answered
// whether its certificate was believed: TLS 1.3 lets it finish first.
func (j *judge) dial(w wishes) (*peer, error) {
	if w.who == "" {
		w.who = "alice"
	}
	secrets := j.tlsConfig(w.who)
	if w.tls != nil {
		w.tls(secrets)
	}
	s := &seen{}
	config := &quic.Config{
		Versions: []quic.VersionNumber{quic.Version1}, HandshakeIdleTimeout: patience,
		MaxIdleTimeout: patience, MaxIncomingUniStreams: 1 << 16, Tracer: s,
	}
	if !w.noTouch {
		config.KeepAlivePeriod = idle / 4
	}
	if w.quic != nil {
		w.quic(config)
	}
	to, err := net.ResolveUDPAddr("udp", j.address)
	j.must(err, "the server's address")
	from, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	j.must(err, "a socket")
	socket := &hole{socket: from}
	soon, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var conn quic.Connection
	if w.early {
		conn, err = quic.DialEarlyContext(soon, socket, to, j.address, secrets, config)
	} else {
		conn, err = quic.DialContext(soon, socket, to, j.address, secrets, config)
	}
	if err != nil {
		from.Close()
		return nil, err
	}
	p := &peer{
		j: j, conn: conn, socket: socket, seen: s,
		notices: make(chan frame, 1<<16), ended: make(chan struct{}),
	}
	j.keep(p)
	go p.listen()
	if w.silent {
		return p, nil
	}
	f, err := p.call(opHello, helloBody(w.known, "judge"))
	if err != nil {
		return p, err
	}
	if f.op != opHello|answerBit {
		return p, fmt.Errorf("HELLO is answered with %v", f)
	}
	p.hello = helloOf(f.body)
	if state := conn.ConnectionState().TLS; state.NegotiatedProtocol != alpn {
		p.j.note("HELLO is answered over ALPN %q: %v", state.NegotiatedProtocol, f)
		return p, fmt.Errorf("the server serves over ALPN %q", state.NegotiatedProtocol)
	}
	return p, nil
}

func (j *judge) connect(w wishes) *peer {
	p, err := j.dial(w)
	j.must(err, "to connect as "+w.who)
	return p
}

// listen takes notices, one a stream, until the connection is over.
func (p *peer) listen() {
	defer close(p.ended)
	for {
		stream, err := p.conn.AcceptUniStream(context.Background())
		if err != nil {
			p.why = err
			return
		}
		go p.takeNotice(stream)
	}
}

func (p *peer) takeNotice(stream quic.ReceiveStream) {
	f, err := readFrame(stream)
	if err == nil {
		if n, more := stream.Read(make([]byte, 1)); n != 0 || more != io.EOF {
			err = errors.New("a notice's stream does not end behind it")
		} else if f.id != 0 || f.op&0xFF00 != 0x4200 {
			err = fmt.Errorf("not a notice: %v", f)
		}
	}
	if err == nil {
		p.notices <- f
		return
	}
	// Streams that the connection took with it are none of the server's faults.
	select {
	case <-p.conn.Context().Done():
	default:
		p.notices <- frame{op: opRefused, body: append(make([]byte, 4), fit(err.Error())...)}
	}
}

func fit(text string) []byte {
	b := make([]byte, 124)
	copy(b, text)
	return b
}

func (p *peer) leave() {
	p.conn.CloseWithError(closeDone, "")
	p.socket.Close()
}

// vanish leaves without a word.
func (p *peer) vanish() { p.socket.isShut.Store(true) }

// end waits until the connection is over, and says why.
func (p *peer) end() error {
	expects(p.j, p.ended, "the end of a connection")
	return p.why
}

// closedWith waits for the server's close, which has to have this code and a line.
func (p *peer) closedWith(code quic.ApplicationErrorCode) {
	why := p.end()
	p.j.note("closed: %v", why)
	var closed *quic.ApplicationError
	p.j.want(errors.As(why, &closed) && closed.Remote, "the connection ended otherwise: %v", why)
	p.j.equal(closed.ErrorCode, code, "the code of the close")
	p.j.want(code == closeDone || closed.ErrorMessage != "", "the close does not say why")
}

func (p *peer) isOpen() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *peer) openOr() (quic.Stream, error) {
	soon, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := p.conn.OpenStreamSync(soon)
	if err == nil {
		stream.SetDeadline(time.Now().Add(patience))
	}
	return stream, err
}

func (p *peer) open() quic.Stream {
	stream, err := p.openOr()
	p.j.must(err, "to open a stream")
	return stream
}

func (p *peer) request(op uint16, body []byte) frame {
	return frame{op, p.asked.Add(1), body}
}

// call asks on a stream of its own, ends it, and wants one answer and the server's end behind it.
func (p *peer) call(op uint16, body []byte) (frame, error) {
	stream, err := p.openOr()
	if err != nil {
		return frame{}, err
	}
	asked := p.request(op, body)
	if _, err := stream.Write(asked.encode()); err != nil {
		return frame{}, err
	}
	if err := stream.Close(); err != nil {
		return frame{}, err
	}
	answer, err := readFrame(stream)
	if err != nil {
		return answer, err
	}
	if answer.id != asked.id {
		return answer, fmt.Errorf("request %d is answered by %v", asked.id, answer)
	}
	if answer.op != opRefused && answer.op != op|answerBit {
		return answer, fmt.Errorf("op %#x is answered by %v", op, answer)
	}
	if n, err := stream.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		return answer, fmt.Errorf("the server does not end the stream: %d bytes, %v", n, err)
	}
	return answer, nil
}

// ask is call for what has to be granted.
func (p *peer) ask(op uint16, body []byte) []byte {
	answer, err := p.call(op, body)
	p.j.must(err, fmt.Sprintf("op %#x", op))
	p.j.equal(answer.op, op|answerBit, fmt.Sprintf("the answer's op (%v)", answer))
	return answer.body
}

func (p *peer) refused(op uint16, body []byte, code uint16) {
	answer, err := p.call(op, body)
	p.j.must(err, fmt.Sprintf("op %#x", op))
	p.j.note("%v", answer)
	p.j.equal(answer.op, uint16(opRefused), "the answer's op")
	p.j.equal(answer.refusal().code, code, fmt.Sprintf("the code of %v", answer))
	p.j.equal(answer.refusal().op, op, "the op that was refused")
}

func (p *peer) alloc(ttlMs uint64) lease { return leaseAt(p.ask(opAlloc, allocBody(ttlMs))) }

func (p *peer) revoke(l lease) ending { return revokeOf(p.ask(opRevoke, nameBody(l, 0))) }

func (p *peer) list(tenant uint64) (all []row) {
	for cursor := uint64(0); ; {
		next, rows := rowsOf(p.ask(opList, numbers(tenant, cursor)))
		all = append(all, rows...)
		if next == 0 {
			return all
		}
		cursor = next
	}
}

func (p *peer) holds(l lease) bool {
	for _, r := range p.list(p.hello.tenant) {
		if r.lease == l {
			return true
		}
	}
	return false
}

// hear waits for a lease's notice, whatever is told in between.
func (p *peer) hear(l lease) frame {
	for {
		f := expects(p.j, p.notices, fmt.Sprintf("the notice of %x:%x", l.id, l.epoch))
		p.j.want(f.op != opRefused, "%v", f)
		if (f.op == opRevoked || f.op == opExpired) && noticeOf(f).lease == l {
			return f
		}
	}
}
