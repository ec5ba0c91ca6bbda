// SPDX-License-Identifier: BSD-3-Clause

// A client of leased over QUIC that shares nothing with it: written from docs/wire.md alone, in
// another language, on another QUIC and another TLS. What both of ours misread the same way, only
// such a one can find. judge.py makes certificates, starts the server and runs this.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sync"
	"time"
)

// What ends a wait for something that never comes; it judges nothing that comes late.
var patience = 120 * time.Second

// What judge.py has configured the server with; cases rely on these.
const (
	idle           = 4 * time.Second
	orphan         = 3 * time.Second
	ourTenant      = 7
	otherTenant    = 8
	crowdedAtMost  = 128
	mostUnfinished = 64 << 10
	mostUnread     = 4 << 20
	requestsAtOnce = 64
)

// A failed expectation, thrown so that a case reads as a list of what is expected.
type verdict string

// judge is what one case has: the server, and the connections to be closed behind it.
type judge struct {
	address string
	folder  string
	verbose bool
	script  *bufio.Reader
	mutex   sync.Mutex
	peers   []*peer
}

func (j *judge) fail(format string, arguments ...any) {
	panic(verdict(fmt.Sprintf(format, arguments...)))
}

func (j *judge) must(err error, what string) {
	if err != nil {
		j.fail("%s: %v", what, err)
	}
}

func (j *judge) want(is bool, format string, arguments ...any) {
	if !is {
		j.fail(format, arguments...)
	}
}

func (j *judge) equal(got, wanted any, what string) {
	if !reflect.DeepEqual(got, wanted) {
		j.fail("%s is %v, not %v", what, got, wanted)
	}
}

func (j *judge) note(format string, arguments ...any) {
	if j.verbose {
		fmt.Printf("   "+format+"\n", arguments...)
	}
}

// together runs work for 0 to count - 1 at once; the first failure is the case's.
func (j *judge) together(count int, work func(i int)) {
	failures := make(chan any, count)
	for i := 0; i < count; i++ {
		go func(i int) {
			defer func() { failures <- recover() }()
			work(i)
		}(i)
	}
	var first any
	for i := 0; i < count; i++ {
		if failure := <-failures; failure != nil && first == nil {
			first = failure
		}
	}
	if first != nil {
		panic(first)
	}
}

// please has judge.py do what only the server's parent can: it reads our lines, and answers "done".
func (j *judge) please(what string) {
	fmt.Printf("please %s\n", what)
	answer, err := j.script.ReadString('\n')
	j.must(err, "please "+what)
	j.equal(answer, "done\n", "the answer to please "+what)
}

// expects waits for a channel to be closed or to have something.
func expects[T any](j *judge, channel <-chan T, what string) T {
	select {
	case value := <-channel:
		return value
	case <-time.After(patience):
		j.fail("waited %v for %s", patience, what)
	}
	panic("unreachable")
}

func (j *judge) keep(p *peer) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	j.peers = append(j.peers, p)
}

func (j *judge) run(work func(*judge)) (err error) {
	defer func() {
		for _, p := range j.peers {
			p.leave()
		}
		j.peers = nil
		switch failure := recover().(type) {
		case nil:
		case verdict:
			err = errors.New(string(failure))
		default:
			panic(failure)
		}
	}()
	work(j)
	return nil
}

type testCase struct {
	name string
	work func(*judge)
}

func main() {
	address := flag.String("server", "", "HOST:PORT of leased")
	folder := flag.String("folder", "", "with the certificates that judge.py made")
	only := flag.String("run", "", "a regular expression: the cases whose names it matches")
	verbose := flag.Bool("v", false, "says what the server said")
	flag.DurationVar(&patience, "patience", patience, "when what has not come will not")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil || *address == "" || *folder == "" {
		fmt.Fprintln(os.Stderr, "judge: --server HOST:PORT and --folder DIR, run by judge.py")
		os.Exit(2)
	}
	j := &judge{
		address: *address, folder: *folder, verbose: *verbose,
		script: bufio.NewReader(os.Stdin),
	}
	passed, failed := 0, 0
	for _, c := range allCases() {
		if !wanted.MatchString(c.name) {
			continue
		}
		started := time.Now()
		if err := j.run(c.work); err != nil {
			failed++
			fmt.Printf("FAILED %s: %v\n", c.name, err)
		} else {
			passed++
			fmt.Printf("ok     %s (%d ms)\n", c.name, time.Since(started).Milliseconds())
		}
	}
	fmt.Printf("%d cases passed, %d failed\n", passed, failed)
	if failed != 0 || passed == 0 {
		os.Exit(1)
	}
}

func allCases() []testCase {
	var all []testCase
	for _, some := range [][]testCase{
		leaseCases, streamCases, malformedCases, handshakeCases, floodCases, endCases,
	} {
		all = append(all, some...)
	}
	return all
}
