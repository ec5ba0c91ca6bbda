// SPDX-License-Identifier: BSD-3-Clause

// Who is let in, and by which TLS.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"reflect"
	"sync"
	"unsafe"

	quic "github.com/lucas-clemente/quic-go"
)

var handshakeCases = []testCase{
	{"NoCertificate_IsTurnedAway", turnedAway(wishes{who: "none"})},
	{"CertificateOfAnotherAuthority_IsTurnedAway", turnedAway(wishes{who: "rogue"})},
	{"CertificateOfTheServersPurpose_IsTurnedAway", turnedAway(wishes{who: "wrongpurpose"})},
	{"NameThatNobodyListed_IsClosedWith1", closedWith1("stranger")},
	{"NamesThatSayTwoThings_AreClosedWith1", closedWith1("twofaced")},
	{"NameWithoutARole_IsClosedWith1", closedWith1("norole")},
	{"CertificateTakenBack_IsHungUpOnAndTurnedAway", takenBack},
	{"AnotherALPN_IsTurnedAway", otherALPN([]string{"h3", "portcullis/2", "portcullis"})},
	{"NoALPN_IsTurnedAway", otherALPN(nil)},
	{"OneALPNOfTwo_IsChosen", oneOfTwo},
	{"HandMadeClientHello_IsAnswered", handMade(clientHello{
		most: tls.VersionTLS13, protocols: []string{alpn},
	}, true)},
	{"TLS12Only_IsTurnedAway", handMade(clientHello{
		most: tls.VersionTLS12, protocols: []string{alpn},
	}, false)},
	{"EveryAddress_IsValidatedByARetry", retryEachTime},
	{"SecondConnection_HasNoTicketAndNo0RTT", no0RTT},
	{"ServerOfAnotherAuthority_IsNotBelieved", serverNotBelieved},
	{"ServerAskedForByAnotherName_IsNotBelieved", serverOfAnotherName},
	{"MoreConnectionsThanATenantMay_AreClosedWith1", tooMany},
	{"KeyUpdateByTLS_IsAnUnexpectedMessage", afterHandshake([]byte{24, 0, 0, 1, 0})},
	{"TLSBehindTheHandshake_IsAnUnexpectedMessage", afterHandshake([]byte{11, 0, 0, 1, 0, 0})},
	{"HalfAMessageOfTLSBehindTheHandshake_IsAnUnexpectedMessage", afterHandshake([]byte{24})},
}

func (j *judge) isTurnedAway(p *peer, err error) {
	j.note("turned away: %v", err)
	var transport *quic.TransportError
	j.want(errors.As(err, &transport) && transport.Remote && transport.ErrorCode >= 0x100 &&
		transport.ErrorCode < 0x200, "not turned away by TLS: %v", err)
	j.connect(wishes{}).ask(opStatus, numbers(0))
}

func turnedAway(w wishes) func(*judge) {
	return func(j *judge) {
		p, err := j.dial(w)
		j.isTurnedAway(p, err)
	}
}

func otherALPN(protocols []string) func(*judge) {
	return turnedAway(wishes{tls: func(c *tls.Config) { c.NextProtos = protocols }})
}

func closedWith1(who string) func(*judge) {
	return func(j *judge) {
		p, err := j.dial(wishes{who: who, silent: true})
		j.must(err, "to connect")
		p.closedWith(closeNotAllowed)
	}
}

func takenBack(j *judge) {
	mallory := j.connect(wishes{who: "mallory"})
	mallory.ask(opStatus, numbers(0))
	j.please("take back mallory")
	mallory.closedWith(closeNotAllowed)
	p, err := j.dial(wishes{who: "mallory"})
	j.isTurnedAway(p, err)
}

func oneOfTwo(j *judge) {
	alice := j.connect(wishes{tls: func(c *tls.Config) { c.NextProtos = []string{"h3", alpn} }})
	state := alice.conn.ConnectionState().TLS
	j.equal(state.NegotiatedProtocol, alpn, "the protocol")
	j.equal(state.Version, uint16(tls.VersionTLS13), "the version of TLS")
}

// tokens keeps what a server gives for later, and offers it at once.
type tokens struct {
	mutex sync.Mutex
	kept  *quic.ClientToken
}

func (t *tokens) Pop(string) *quic.ClientToken {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.kept
}

func (t *tokens) Put(_ string, token *quic.ClientToken) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.kept = token
}

func retryEachTime(j *judge) {
	kept := &tokens{}
	for i := 0; i < 3; i++ {
		p := j.connect(wishes{quic: func(c *quic.Config) { c.TokenStore = kept }})
		p.ask(opStatus, numbers(0))
		p.seen.mutex.Lock()
		hasRetry := p.seen.hasRetry
		p.seen.mutex.Unlock()
		j.want(hasRetry, "connection %d had no Retry", i+1)
	}
}

// tickets counts what is kept to resume by.
type tickets struct {
	tls.ClientSessionCache
	mutex sync.Mutex
	count int
}

func (t *tickets) Put(key string, state *tls.ClientSessionState) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if state != nil {
		t.count++
	}
	t.ClientSessionCache.Put(key, state)
}

func no0RTT(j *judge) {
	kept := &tickets{ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	resume := func(c *tls.Config) { c.ClientSessionCache = kept }
	first := j.connect(wishes{tls: resume})
	l := first.alloc(longTtl)
	first.revoke(l)
	second := j.connect(wishes{tls: resume, early: true})
	state := second.conn.ConnectionState().TLS
	j.want(!state.Used0RTT, "0-RTT was taken")
	j.want(!state.DidResume, "a session was resumed")
	kept.mutex.Lock()
	defer kept.mutex.Unlock()
	j.equal(kept.count, 0, "tickets")
}

func serverNotBelieved(j *judge) {
	rogue, err := os.ReadFile(j.path("rogue/ca.pem"))
	j.must(err, "the other authority")
	_, err = j.dial(wishes{tls: func(c *tls.Config) {
		c.RootCAs = x509.NewCertPool()
		c.RootCAs.AppendCertsFromPEM(rogue)
	}})
	j.want(err != nil, "a server of another authority is believed")
	j.note("%v", err)
}

func serverOfAnotherName(j *judge) {
	j.connect(wishes{tls: func(c *tls.Config) { c.ServerName = "localhost" }})
	_, err := j.dial(wishes{tls: func(c *tls.Config) { c.ServerName = "db1.example" }})
	j.want(err != nil, "a server is believed that has another name")
	j.note("%v", err)
}

func tooMany(j *judge) {
	for i := 0; i < crowdedAtMost; i++ {
		j.connect(wishes{who: "crowd"})
	}
	p, err := j.dial(wishes{who: "crowd", silent: true})
	j.must(err, "to connect")
	p.closedWith(closeNotAllowed)
	j.connect(wishes{}).ask(opStatus, numbers(0))
}

// hidden is a member of quic-go's own that it shows to nobody.
func hidden(of reflect.Value, name string) reflect.Value {
	member := of.Elem().FieldByName(name)
	return reflect.NewAt(member.Type(), unsafe.Pointer(member.UnsafeAddr())).Elem()
}

// afterHandshake has a client send these bytes in CRYPTO frames under its keys of 1-RTT, for which
// quic-go has no call: a KeyUpdate among them is an error 0x010a by RFC 9001, 6.
func afterHandshake(message []byte) func(*judge) {
	const unexpectedMessage = 0x100 + 10
	return func(j *judge) {
		p := j.connect(wishes{})
		conn := reflect.ValueOf(p.conn)
		stream := hidden(hidden(conn, "cryptoStreamManager"), "handshakeStream").Elem()
		stream.MethodByName("Write").Call([]reflect.Value{reflect.ValueOf(message)})
		pop := stream.MethodByName("PopCryptoFrame")
		most := reflect.ValueOf(1000).Convert(pop.Type().In(0))
		frame := pop.Call([]reflect.Value{most})[0]
		frame.Elem().FieldByName("Offset").SetInt(0)
		hidden(conn, "framer").Elem().MethodByName("QueueControlFrame").Call([]reflect.Value{frame})
		p.call(opStatus, numbers(0)) // its packet takes the frame along
		why := p.end()
		j.note("ended: %v", why)
		var transport *quic.TransportError
		j.want(errors.As(why, &transport) && transport.Remote, "it ended otherwise: %v", why)
		j.equal(uint64(transport.ErrorCode), uint64(unexpectedMessage), "the code of the end")
		j.connect(wishes{}).ask(opStatus, numbers(0))
	}
}
