(* SPDX-License-Identifier: BSD-3-Clause

   The small steps of failover/semantics as a function, put together from what the other files prove
   things about: the responder and its PSNs, records made in the step of the update, messages that
   consume receives. One client posts work requests of one or more packets on queue pairs, waits,
   times out, orders a fence, waits for it and posts again. Agreement.v walks through it, and the
   same walks are made in C++. *)

From Coq Require Import Arith NArith Bool List.
From PortcullisFailover Require Import Words Memory Operations Responder Receipts.
Import ListNotations.

(* ---- What is posted -------------------------------------------------------------------------- *)

Inductive packet : Type :=
| Operate (o : op)
| Nothing.                    (* of a SEND: no memory is touched *)

Record work := Work {
  parts : list packet;
  queue_pair : nat;
  notifies : bool;            (* its last packet consumes a receive *)
  record_at : option addr;    (* becomes one in the same step *)
  looks_first : bool          (* executes only where the record is not one yet *)
}.

Inductive instruction : Type :=
| Post (i : nat)
| Await (i done timeout : nat)
| OrderFence (q next : nat)
| SeeFence (q : nat)
| Stop.

(* Whose packets a fence refuses: all, or those that carry an rkey. *)
Inductive fence_kind : Type :=
| Epoch
| Mkey.

Record machine := Machine {
  works : list work;
  program : list instruction;
  kind : fence_kind;
  others_write : word         (* to address 0, while there is budget *)
}.

(* ---- States ---------------------------------------------------------------------------------- *)

Inductive phase : Type :=
| Idle
| Posted
| Answered
| Closed.

Record request := Request {
  how : phase;
  executed : nat;             (* packets *)
  copies : list nat;          (* of each packet, on their way *)
  brought : word              (* what came back, while it is on its way *)
}.

Record config := Config {
  memory_now : memory;
  pc : nat;
  asked : list request;       (* one a work *)
  servers : list responder;   (* one a queue pair *)
  fences : list nat;          (* one a queue pair: 0 none, 1 ordered, 2 in effect *)
  arrivals : nat;
  late : nat;
  duplicates : nat;
  timeouts : nat;
  budget : nat                (* of writes by others *)
}.

Fixpoint set_nth {A : Type} (n : nat) (x : A) (l : list A) : list A :=
  match l, n with
  | [], _ => []
  | _ :: rest, O => x :: rest
  | y :: rest, S k => y :: set_nth k x rest
  end.

Definition no_work : work := Work [] 0 false None false.
Definition no_request : request := Request Idle 0 [] zero.

Definition work_at (p : machine) (i : nat) : work := nth i (works p) no_work.
Definition request_at (c : config) (i : nat) : request := nth i (asked c) no_request.
Definition server_at (c : config) (q : nat) : responder := nth q (servers c) new_responder.
Definition fence_at (c : config) (q : nat) : nat := nth q (fences c) 0.

Definition at_pc (n : nat) (c : config) : config :=
  Config (memory_now c) n (asked c) (servers c) (fences c) (arrivals c) (late c) (duplicates c)
         (timeouts c) (budget c).
Definition with_request (i : nat) (r : request) (c : config) : config :=
  Config (memory_now c) (pc c) (set_nth i r (asked c)) (servers c) (fences c) (arrivals c) (late c)
         (duplicates c) (timeouts c) (budget c).

Definition indices {A : Type} (l : list A) : list nat := seq 0 (length l).

Definition sum (l : list nat) : nat := fold_left Nat.add l 0.

Definition is_operation (x : packet) : bool :=
  match x with Operate _ => true | Nothing => false end.

(* READ and the atomics: their answer carries a word, so a later acknowledgement is none of them. *)
Definition returns_word (w : work) : bool :=
  existsb (fun x => match x with
                    | Operate (READ _) | Operate (FADD _ _) | Operate (CAS _ _ _) => true
                    | _ => false
                    end) (parts w).
Definition is_read (w : work) : bool :=
  existsb (fun x => match x with Operate (READ _) => true | _ => false end) (parts w).

Definition is_phase (x y : phase) : bool :=
  match x, y with
  | Idle, Idle | Posted, Posted | Answered, Answered | Closed, Closed => true
  | _, _ => false
  end.

(* PSNs follow the order of the list within a queue pair. *)
Definition psn_of (p : machine) (i part : nat) : nat :=
  part + sum (map (fun j =>
    if Nat.eqb (queue_pair (work_at p j)) (queue_pair (work_at p i))
    then length (parts (work_at p j)) else 0) (seq 0 i)).

Definition is_refused (p : machine) (c : config) (i : nat) : bool :=
  Nat.eqb (fence_at c (queue_pair (work_at p i))) 2 &&
  (match kind p with
   | Epoch => true
   | Mkey => existsb is_operation (parts (work_at p i))
   end).

(* ---- The client ------------------------------------------------------------------------------ *)

(* Every step is told as action, work request or queue pair, packet. *)
Definition told : Type := (nat * nat * nat)%type.

Definition posted_now (p : machine) (i : nat) (c : config) : config :=
  at_pc (S (pc c))
    (with_request i (Request Posted (executed (request_at c i)) (map (fun _ => 1) (parts (work_at p i)))
                       (brought (request_at c i))) c).

(* A later request of its queue pair, which acknowledges it, is in that phase. *)
Definition later_is (p : machine) (c : config) (i : nat) (x : phase) : bool :=
  negb (returns_word (work_at p i)) &&
  existsb (fun j => Nat.ltb i j &&
                    Nat.eqb (queue_pair (work_at p j)) (queue_pair (work_at p i)) &&
                    is_phase (how (request_at c j)) x) (indices (works p)).

(* It was left behind by one that completed, and completions of a queue pair keep its order. A timeout
   closes all that is not complete, so a later one that is closed is. *)
Definition has_completed (p : machine) (c : config) (i : nat) : bool :=
  (is_phase (how (request_at c i)) Posted || is_phase (how (request_at c i)) Answered) &&
  later_is p c i Closed.

(* An answer to it is on its way, or one to a later request, or that one has completed. *)
Definition has_answer (p : machine) (c : config) (i : nat) : bool :=
  is_phase (how (request_at c i)) Answered ||
  (is_phase (how (request_at c i)) Posted &&
   (later_is p c i Answered || later_is p c i Closed)).

Definition completed_now (i next : nat) (c : config) : config :=
  at_pc next (with_request i (Request Closed (executed (request_at c i))
                                (map (fun _ => 0) (copies (request_at c i))) zero) c).

Definition on_queue (p : machine) (q : nat) : list nat :=
  filter (fun j => Nat.eqb (queue_pair (work_at p j)) q) (indices (works p)).

Definition in_flight (p : machine) (c : config) (q : nat) : nat :=
  sum (map (fun j => sum (copies (request_at c j))) (on_queue p q)).

(* Of the earlier ones first: the later ones are still as they were. *)
Definition closed_by_timeout (p : machine) (c : config) (j : nat) : config :=
  let r := request_at c j in
  if has_completed p c j then c else
  match how r with
  | Idle => c
  | _ => with_request j (Request Closed (executed r) (copies r) zero) c
  end.

Definition timed_out_now (p : machine) (q next : nat) (c : config) : config :=
  let c' := fold_left (closed_by_timeout p) (on_queue p q) c in
  Config (memory_now c') next (asked c') (servers c') (fences c') (arrivals c')
         (late c' - in_flight p c q) (duplicates c') (timeouts c' - 1) (budget c').

Definition client_steps (p : machine) (c : config) : list (told * config) :=
  match nth (pc c) (program p) Stop with
  | Post i => [((0, i, 0), posted_now p i c)]
  | Await i done timeout =>
      let q := queue_pair (work_at p i) in
      let r := request_at c i in
      (if has_answer p c i then [((1, i, 0), completed_now i done c)] else []) ++
      (if is_phase (how r) Posted && negb (has_completed p c i) && Nat.ltb 0 (timeouts c) &&
          Nat.leb (in_flight p c q) (late c)
       then [((2, i, 0), timed_out_now p q timeout c)] else []) ++
      (if is_phase (how r) Closed then [((3, i, 0), at_pc timeout c)] else [])
  | OrderFence q next =>
      [((4, q, 0),
        Config (memory_now c) next (asked c) (servers c)
               (if Nat.eqb (fence_at c q) 0 then set_nth q 1 (fences c) else fences c) (arrivals c)
               (late c) (duplicates c) (timeouts c) (budget c))]
  | SeeFence q => if Nat.eqb (fence_at c q) 2 then [((5, q, 0), at_pc (S (pc c)) c)] else []
  | Stop => []
  end.

(* ---- Network and responder ------------------------------------------------------------------- *)

Definition without_copy (part : nat) (r : request) : request :=
  Request (how r) (executed r) (set_nth part (nth part (copies r) 0 - 1) (copies r)) (brought r).

Definition word_of (r : reply) (otherwise : word) : word :=
  match r with
  | Reply (Old w) => w
  | _ => otherwise
  end.

(* The packet whose turn it is. What the responder answers is Responder.respond's; what becomes of
   memory is, with a record, Receipts.recorded's or Receipts.deduplicated's. *)
Definition execute_part (p : machine) (i part : nat) (c : config) : config :=
  let w := work_at p i in
  let q := queue_pair w in
  let is_last := Nat.eqb (S part) (length (parts w)) in
  let '(server, m, answer) :=
    match nth part (parts w) Nothing with
    | Operate o =>
        let '(server, m, answer) := respond (server_at c q) (memory_now c) (psn_of p i part) o in
        (server,
         match record_at w with
         | None => m
         | Some r => if looks_first w then deduplicated r one o (memory_now c)
                     else recorded r one o (memory_now c)
         end, answer)
    | Nothing =>
        (Responder (S (expected (server_at c q))) (answers (server_at c q) ++ [Acked]),
         memory_now c, Reply Acked)
    end in
  let r := without_copy part (request_at c i) in
  let is_answered := is_last && negb (is_phase (how r) Closed) in
  let r' := Request (if is_answered then Answered else how r) (S part) (copies r)
                    (if is_answered then word_of answer (brought r) else brought r) in
  let c' := with_request i r' c in
  Config m (pc c') (asked c') (set_nth q server (servers c')) (fences c')
         (arrivals c' + (if is_last && notifies w then 1 else 0)) (late c') (duplicates c')
         (timeouts c') (budget c').

(* A duplicate of a request that has executed: answered as Responder.respond answers it. *)
Definition answer_part (p : machine) (i part : nat) (c : config) : config :=
  let w := work_at p i in
  let r := without_copy part (request_at c i) in
  let answer :=
    match nth part (parts w) Nothing with
    | Operate o =>
        snd (respond (server_at c (queue_pair w)) (memory_now c) (psn_of p i part) o)
    | Nothing => Reply Acked
    end in
  with_request i (Request Answered (executed r) (copies r) (word_of answer (brought r))) c.

Definition deliver (p : machine) (c : config) (i part : nat) : list (told * config) :=
  let w := work_at p i in
  let r := request_at c i in
  if Nat.eqb (nth part (copies r) 0) 0 || is_refused p c i then []
  else if Nat.eqb (psn_of p i part) (expected (server_at c (queue_pair w)))
  then [((6, i, part), execute_part p i part c)]
  else if Nat.eqb (executed r) (length (parts w)) &&
          (is_phase (how r) Posted || (is_phase (how r) Answered && is_read w))
  then [((7, i, part), answer_part p i part c)]
  else [].

Definition is_asked (r : request) : bool := negb (is_phase (how r) Idle).

Definition lose (c : config) (i part : nat) : list (told * config) :=
  let r := request_at c i in
  if is_asked r && Nat.ltb 0 (nth part (copies r) 0)
  then [((8, i, part), with_request i (without_copy part r) c)] else [].

Definition lose_answer (c : config) (i : nat) : list (told * config) :=
  let r := request_at c i in
  if is_phase (how r) Answered
  then [((9, i, 0), with_request i (Request Posted (executed r) (copies r) (brought r)) c)] else [].

Definition duplicate (c : config) (i part : nat) : list (told * config) :=
  let r := request_at c i in
  if is_asked r && negb (is_phase (how r) Closed) && Nat.ltb 0 (duplicates c)
  then
    let c' := with_request i (Request (how r) (executed r)
                (set_nth part (nth part (copies r) 0 + 1) (copies r)) (brought r)) c in
    [((10, i, part),
      Config (memory_now c') (pc c') (asked c') (servers c') (fences c') (arrivals c') (late c')
             (duplicates c' - 1) (timeouts c') (budget c'))]
  else [].

(* From now on nothing of the queue pair gets through, and what was on its way is gone. *)
Definition take_effect (p : machine) (c : config) (q : nat) : list (told * config) :=
  if Nat.eqb (fence_at c q) 1
  then
    let fenced := Config (memory_now c) (pc c) (asked c) (servers c) (set_nth q 2 (fences c))
                         (arrivals c) (late c) (duplicates c) (timeouts c) (budget c) in
    [((11, q, 0),
      fold_left (fun c j =>
        if is_refused p c j
        then let r := request_at c j in
             with_request j (Request (how r) (executed r) (map (fun _ => 0) (copies r)) (brought r)) c
        else c) (on_queue p q) fenced)]
  else [].

Definition other_writes (p : machine) (c : config) : list (told * config) :=
  if Nat.ltb 0 (budget c) && negb (eqb (memory_now c 0) (others_write p))
  then [((12, 0, 0),
         Config (write (memory_now c) 0 (others_write p)) (pc c) (asked c) (servers c) (fences c)
                (arrivals c) (late c) (duplicates c) (timeouts c) (budget c - 1))]
  else [].

(* ---- All that can happen, by number of the action ---------------------------------------------- *)

Definition per_packet (p : machine) (f : nat -> nat -> list (told * config)) : list (told * config) :=
  flat_map (fun i => flat_map (f i) (indices (parts (work_at p i)))) (indices (works p)).

Definition steps (p : machine) (c : config) : list (told * config) :=
  let delivered := per_packet p (deliver p c) in
  let is_execution x := Nat.eqb (fst (fst (fst x))) 6 in
  client_steps p c ++
  filter is_execution delivered ++ filter (fun x => negb (is_execution x)) delivered ++
  per_packet p (lose c) ++
  flat_map (lose_answer c) (indices (works p)) ++
  per_packet p (duplicate c) ++
  flat_map (take_effect p c) (indices (fences c)) ++
  other_writes p c.

Definition begin (p : machine) (initial : word) (queue_pairs late_ duplicates_ timeouts_ budget_ : nat)
  : config :=
  Config (fun a => if Nat.ltb a 10 then initial else zero) 0
         (map (fun w => Request Idle 0 (map (fun _ => 0) (parts w)) zero) (works p))
         (repeat new_responder queue_pairs) (repeat 0 queue_pairs) 0 late_ duplicates_ timeouts_
         budget_.

(* ---- What holds of it ------------------------------------------------------------------------ *)

(* A fence in effect is never undone by ordering another. *)
Theorem order_keeps_a_fence : forall p c q next t c',
  nth (pc c) (program p) Stop = OrderFence q next -> fence_at c q = 2 ->
  In (t, c') (client_steps p c) -> fence_at c' q = 2.
Proof.
  intros p c q next t c' h f i. unfold client_steps in i. rewrite h in i.
  destruct i as [i | []]. injection i as _ <-. unfold fence_at in *. cbn [fences].
  rewrite f. exact f.
Qed.

(* What is refused is not delivered. *)
Theorem refused_is_not_delivered : forall p c i part, is_refused p c i = true ->
  deliver p c i part = [].
Proof.
  intros p c i part h. unfold deliver. rewrite h, orb_true_r. reflexivity.
Qed.

(* A packet executes where, and only where, the responder's ePSN is its PSN. *)
Theorem executes_in_its_turn : forall p c i part t c',
  In (t, c') (deliver p c i part) -> fst (fst t) = 6 ->
  psn_of p i part = expected (server_at c (queue_pair (work_at p i))).
Proof.
  intros p c i part t c' h k. unfold deliver in h.
  destruct (_ || _); [destruct h |].
  destruct (Nat.eqb (psn_of p i part) _) eqn:e; [apply Nat.eqb_eq, e |].
  destruct (_ && _); [| destruct h]. destruct h as [h | []]. injection h as <- _. discriminate.
Qed.
