(* SPDX-License-Identifier: BSD-3-Clause

   A small instance of the semantics, enumerated: every operation over a few words on every word,
   and a responder with two posted work requests under every order of arrivals. failover/semantics
   is the same thing in C++; tests/failover/proofs computes these tables there and compares. *)

From Coq Require Import NArith List.
From PortcullisFailover Require Import Words Memory Operations Responder.
Import ListNotations.
Local Open Scope N_scope.

Definition code_of (o : op) : list N :=
  match o with
  | WRITE a v => [0; N.of_nat a; bits v; 0]
  | READ a => [1; N.of_nat a; 0; 0]
  | FADD a d => [2; N.of_nat a; bits d; 0]
  | CAS a e n => [3; N.of_nat a; bits n; bits e]
  end.

Definition code_of_reply (r : reply) : list N :=
  match r with
  | Nak => [0; 0]
  | Reply Acked => [1; 0]
  | Reply (Old w) => [2; bits w]
  end.

(* Every operation on address a whose operands are among ws. *)
Definition all_operations (a : addr) (ws : list word) : list op :=
  map (WRITE a) ws ++ [READ a] ++ map (FADD a) ws ++
  flat_map (fun e => map (CAS a e) ws) ws.

(* ---- One operation on one word: operation, word before, word after, answer ------------------- *)

Definition step_words : list word := [zero; one; of_N 2; of_N (2 ^ 63); greatest].

Definition step_table : list (list N) :=
  flat_map (fun o =>
    map (fun w =>
      let (m, r) := exec (fun _ => w) o in
      code_of o ++ [bits w; bits (m 0%nat)] ++ code_of_reply (Reply r)) step_words)
    (all_operations 0%nat step_words).

(* ---- A responder under every order of four arrivals ------------------------------------------ *)

(* A request packet with this PSN, or somebody else's write of the greatest word to address 0. *)
Inductive arrival : Set :=
| Packet (psn : nat)
| OtherWrite.

Definition arrive (posted : list op) (s : responder * memory) (x : arrival)
  : (responder * memory) * list N :=
  let (q, m) := s in
  match x with
  | OtherWrite => ((q, write m 0%nat greatest), [3; 0])
  | Packet psn =>
      match nth_error posted psn with
      | Some o => let '(q', m', r) := respond q m psn o in ((q', m'), code_of_reply r)
      | None => (s, [4; 0])
      end
  end.

(* What is compared after each arrival: the reply, both words and the ePSN, in a 64-bit digest. *)
Definition mix (digest x : N) : N :=
  N.land (N.shiftl digest 5 + digest + x + 1) (2 ^ 64 - 1).

Definition digest_of (d : N) (s : responder * memory) (reply_code : list N) : N :=
  fold_left mix
    (reply_code ++ [bits (snd s 0%nat); bits (snd s 1%nat); N.of_nat (expected (fst s))]) d.

Fixpoint explore (depth : nat) (posted : list op) (s : responder * memory) (d : N) : N :=
  match depth with
  | O => d
  | S rest =>
      fold_left (fun d x =>
        let (s', code) := arrive posted s x in
        explore rest posted s' (digest_of d s' code))
        [Packet 0; Packet 1; OtherWrite] d
  end.

Definition responder_words : list word := [zero; one; greatest].

Definition responder_table : list (list N) :=
  flat_map (fun first =>
    flat_map (fun second =>
      map (fun w =>
        code_of first ++ code_of second ++
        [bits w; explore 4%nat [first; second] (new_responder, fun _ => w) 0]) responder_words)
      (all_operations 0%nat responder_words ++ all_operations 1%nat responder_words))
    (all_operations 0%nat responder_words).

(* The enumeration is of the size it claims, so nothing was compared with nothing. *)
Lemma table_sizes : length step_table = 180%nat /\ length responder_words = 3%nat /\
  length (all_operations 0%nat responder_words) = 16%nat.
Proof. vm_compute. auto. Qed.
