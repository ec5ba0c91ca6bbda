(* SPDX-License-Identifier: BSD-3-Clause

   A small instance of the semantics, enumerated: every operation over a few words on every word,
   and a responder with two posted work requests under every order of arrivals; then walks through
   Machine.v, in which a client times out, fences and posts again, and histories that the judge of
   linearizability is asked about. failover/semantics is the same thing in C++; tests/failover/proofs
   computes these tables there and compares. *)

From Coq Require Import NArith Bool List.
From PortcullisFailover Require Import Words Memory Operations Responder Machine Linearizability.
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

(* ---- Walks: timeouts, fences, messages, several packets, records ------------------------------- *)

Definition kinds : list (nat -> work) :=
  [(fun q => Work [Operate (WRITE 0 one)] q false None false);
   (fun q => Work [Operate (WRITE 0 one); Operate (WRITE 1 one)] q false None false);
   (fun q => Work [Nothing] q true None false);                            (* SEND *)
   (fun q => Work [Operate (WRITE 1 one)] q true None false);              (* WRITE_WITH_IMM *)
   (fun q => Work [Operate (READ 0)] q false None false);
   (fun q => Work [Operate (FADD 0 one)] q false None false);
   (fun q => Work [Operate (CAS 0 zero one)] q false None false);
   (fun q => Work [Operate (FADD 0 one)] q false (Some 10) false);     (* with a record *)
   (fun q => Work [Operate (FADD 0 one)] q false (Some 10) true)]%nat.  (* that is looked at *)

Definition variants : list (fence_kind * nat) :=
  [(Epoch, 4%nat); (Mkey, 4%nat); (Epoch, 5%nat)].    (* the last one does not wait for the fence *)

(* Both on one queue pair, the second one awaited first; after a timeout a fence, and both again on
   another one. *)
Definition machine_of (first second : nat -> work) (variant : fence_kind * nat) : machine :=
  Machine [first 0%nat; second 0%nat; first 1%nat; second 1%nat]
    [Post 0; Post 1; Await 1 9 3; OrderFence 0 (snd variant); SeeFence 0; Post 2; Post 3;
     Await 2 8 8; Await 3 10 10; Await 0 10 3; Stop]%nat
    (fst variant) (of_N 5).

Definition code_of_phase (x : phase) : N :=
  match x with Idle => 0 | Posted => 1 | Answered => 2 | Closed => 3 end.

Definition code_of_told (t : told) : N :=
  let '(action, i, part) := t in N.of_nat action * 100 + N.of_nat i * 10 + N.of_nat part.

(* What nobody waits for has no result that could be seen. *)
Definition is_awaited (p : machine) (i : nat) : bool :=
  existsb (fun x => match x with Await j _ _ => Nat.eqb i j | _ => false end) (program p).

Definition observed (p : machine) (c : config) : list N :=
  map N.of_nat [pc c; arrivals c; late c; duplicates c; timeouts c; budget c] ++
  map (fun a => bits (memory_now c a)) [0; 1; 10]%nat ++ map N.of_nat (fences c) ++
  flat_map (fun i =>
    let r := request_at c i in
    [code_of_phase (how r); N.of_nat (executed r); if is_awaited p i then bits (brought r) else 0] ++
    map N.of_nat (copies r)) (indices (asked c)).

(* A packet is lost, or a request times out. Left to chance alone they end most walks before anything
   is answered twice. *)
Definition is_harsh (t : told) : bool :=
  Nat.eqb (fst (fst t)) 8%nat || Nat.eqb (fst (fst t)) 2%nat.

(* Three times out of four the walk goes on without harm, where it can. *)
Definition chosen_from (x : N) (possible : list (told * config)) : list (told * config) :=
  match filter (fun y => negb (is_harsh (fst y))) possible with
  | [] => possible
  | calm => if N.land (N.shiftr x 61) 3 =? 0 then possible else calm
  end.

(* The generator of Knuth's MMIX; its high bits choose among the steps. *)
Definition next_random (x : N) : N :=
  N.land (x * 6364136223846793005 + 1442695040888963407) (2 ^ 64 - 1).

Fixpoint walk (length_left : nat) (p : machine) (c : config) (x d : N) : N :=
  match length_left with
  | O => d
  | S rest =>
      let possible := steps p c in
      let d := fold_left mix (map (fun y => code_of_told (fst y)) possible) (mix d 0) in
      let x := next_random x in
      let likely := chosen_from x possible in
      match likely with
      | [] => d                      (* and nothing modulo 0 *)
      | first :: _ =>
          let chosen := N.to_nat (N.shiftr x 33 mod N.of_nat (length likely)) in
          let (t, c') := nth chosen likely first in
          walk rest p c' x (fold_left mix (code_of_told t :: observed p c') d)
      end
  end.

Definition seeds : list N := [1; 2; 3; 4].
Definition walk_length : nat := 60.

Definition numbered {A : Type} (l : list A) : list (N * A) :=
  combine (map N.of_nat (seq 0 (length l))) l.

Definition walk_table : list (list N) :=
  flat_map (fun first =>
    flat_map (fun second =>
      flat_map (fun variant =>
        map (fun seed =>
          let p := machine_of (snd first) (snd second) (snd variant) in
          [fst first; fst second; fst variant; seed;
           walk walk_length p (begin p zero 2 3 3 2 1) seed 0]) seeds)
        (numbered variants)) (numbered kinds)) (numbered kinds).

(* ---- The judge: histories that the C++ wrote down, and what it said of them -------------------- *)

(* A call as numbers: invoked, returned, operation, address, operand, compare, word that came back;
   the operations are those of code_of. *)
Definition call_of (row : list N) : call :=
  match row with
  | [i; r; code; a; x; y; back] =>
      let a := N.to_nat a in
      let returned_word := Old (of_N back) in
      match code with
      | 0 => Call (N.to_nat i) (N.to_nat r) (WRITE a (of_N x)) Acked
      | 1 => Call (N.to_nat i) (N.to_nat r) (READ a) returned_word
      | 2 => Call (N.to_nat i) (N.to_nat r) (FADD a (of_N x)) returned_word
      | _ => Call (N.to_nat i) (N.to_nat r) (CAS a (of_N y) (of_N x)) returned_word
      end
  | _ => Call 0%nat 0%nat (READ 0%nat) Acked
  end.

Definition judged (rows : list (list N)) : N :=
  if linearizable_b blank (map call_of rows) then 1 else 0.

(* The enumeration is of the size it claims, so nothing was compared with nothing. *)
Lemma table_sizes : length step_table = 180%nat /\ length responder_words = 3%nat /\
  length (all_operations 0%nat responder_words) = 16%nat.
Proof. vm_compute. auto. Qed.
