(* SPDX-License-Identifier: BSD-3-Clause

   "Proof Specifications for RDMA Failover Impossibility", section 2, as printed: memory,
   operations, traces, the overlay. What stands as printed is proved here; what does not is shown
   to fail here, and its row in docs/failover-seed-map.md names what replaces it. The marked
   comments make that table. *)

From Coq Require Import Arith Bool List Lia.
Import ListNotations.

(* ---- 2.1 Memory ------------------------------------------------------------------------------ *)

(*@ 2.1 Definition Addr: proved as stated *)
Definition Addr := nat.

Definition Val := nat.

(*@ 2.1 Definition Memory: proved as stated *)
Definition Memory := Addr -> Val.

(*@ 2.1 Definition init_memory: proved as stated *)
Definition init_memory : Memory := fun _ => 0.

(*@ 2.1 Definition mem_read: proved as stated *)
Definition mem_read (m : Memory) (a : Addr) : Val := m a.

(*@ 2.1 Definition mem_write: proved as stated *)
Definition mem_write (m : Memory) (a : Addr) (v : Val) : Memory :=
  fun a' => if Nat.eqb a' a then v else m a'.

(*@ 2.1 Lemma mem_read_write_same: proved as stated *)
Lemma mem_read_write_same : forall m a v, mem_read (mem_write m a v) a = v.
Proof. intros. unfold mem_read, mem_write. rewrite Nat.eqb_refl. reflexivity. Qed.

(*@ 2.1 Lemma mem_read_write_other: proved as stated *)
Lemma mem_read_write_other : forall m a1 a2 v,
  a1 <> a2 -> mem_read (mem_write m a2 v) a1 = mem_read m a1.
Proof.
  intros m a1 a2 v h. unfold mem_read, mem_write. apply Nat.eqb_neq in h. rewrite h. reflexivity.
Qed.

(* The two lemmas that follow in print equate functions. They hold for whoever grants functional
   extensionality; nobody has to, for equality address by address is enough everywhere. *)
Lemma mem_write_write_same_as_printed :
  (forall f g : Memory, (forall a, f a = g a) -> f = g) ->
  forall m a v1 v2, mem_write (mem_write m a v1) a v2 = mem_write m a v2.
Proof.
  intros ext m a v1 v2. apply ext. intro b. unfold mem_write. destruct (Nat.eqb b a); reflexivity.
Qed.

Lemma mem_write_write_comm_as_printed :
  (forall f g : Memory, (forall a, f a = g a) -> f = g) ->
  forall m a1 a2 v1 v2, a1 <> a2 ->
  mem_write (mem_write m a1 v1) a2 v2 = mem_write (mem_write m a2 v2) a1 v1.
Proof.
  intros ext m a1 a2 v1 v2 h. apply ext. intro b. unfold mem_write.
  destruct (Nat.eqb_spec b a2), (Nat.eqb_spec b a1); congruence.
Qed.

(* ---- 2.2 Operations -------------------------------------------------------------------------- *)

(*@ 2.2 Inductive Op: proved as stated *)
Inductive Op : Type :=
| OpWrite : Addr -> Val -> Op
| OpRead : Addr -> Op
| OpFADD : Addr -> nat -> Op
| OpCAS : Addr -> Val -> Val -> Op.

Inductive OpResult : Type :=
| ResWriteAck : OpResult
| ResReadVal : Val -> OpResult
| ResFADDVal : Val -> OpResult
| ResCASResult : bool -> Val -> OpResult.

(* Used but not printed. *)
Definition exec_write (m : Memory) (a : Addr) (v : Val) : Memory * OpResult :=
  (mem_write m a v, ResWriteAck).

Definition exec_read (m : Memory) (a : Addr) : Memory * OpResult := (m, ResReadVal (mem_read m a)).

Definition exec_fadd (m : Memory) (a : Addr) (delta : nat) : Memory * OpResult :=
  let old_val := mem_read m a in
  let new_val := old_val + delta in
  (mem_write m a new_val, ResFADDVal old_val).

Definition exec_cas (m : Memory) (a : Addr) (expected new_val : Val) : Memory * OpResult :=
  let old_val := mem_read m a in
  if Nat.eqb old_val expected then
    (mem_write m a new_val, ResCASResult true old_val)
  else
    (m, ResCASResult false old_val).

(*@ 2.2 Definition exec_op: proved as stated
    exec_write and exec_read are used in print without a definition. *)
Definition exec_op (m : Memory) (op : Op) : Memory * OpResult :=
  match op with
  | OpWrite a v => exec_write m a v
  | OpRead a => exec_read m a
  | OpFADD a delta => exec_fadd m a delta
  | OpCAS a exp new_v => exec_cas m a exp new_v
  end.

(*@ 2.2 Lemma fadd_not_idempotent: proved as stated
    Over unbounded numbers. On 64-bit words the condition is a remainder:
    Operations.fadd_number_idempotent_iff; Operations.fadd_of_2_to_64_idempotent is a counterexample
    to the printed one. *)
Lemma fadd_not_idempotent : forall m a delta,
  delta <> 0 ->
  fst (exec_fadd (fst (exec_fadd m a delta)) a delta) <> fst (exec_fadd m a delta).
Proof.
  intros m a delta h e. apply (f_equal (fun f => f a)) in e. cbn in e.
  unfold mem_read, mem_write in e. rewrite !Nat.eqb_refl in e. lia.
Qed.

(*@ 2.2 Lemma cas_fail_idempotent: proved as stated *)
Lemma cas_fail_idempotent : forall m a expected new_val,
  mem_read m a <> expected -> fst (exec_cas m a expected new_val) = m.
Proof.
  intros m a e n h. unfold exec_cas. apply Nat.eqb_neq in h. rewrite h. reflexivity.
Qed.

(* ---- 2.3 Traces ------------------------------------------------------------------------------ *)

Inductive Event : Type :=
| EvSend : Op -> Event
| EvTimeout : Op -> Event
| EvCompletion : Op -> OpResult -> Event
| EvPacketLost : Op -> Event
| EvAckLost : Op -> Event
| EvReceive : Op -> Event
| EvExecute : Op -> OpResult -> Event
| EvAppConsume : Addr -> Val -> Event
| EvAppReuse : Addr -> Val -> Event.

Definition Trace := list Event.

Inductive SenderObs : Type :=
| ObsSent : Op -> SenderObs
| ObsCompleted : Op -> OpResult -> SenderObs
| ObsTimeout : Op -> SenderObs.

(*@ 2.3 Fixpoint sender_view: proved as stated
    The projection is the right one; Traces.view is the same over work requests with identity. *)
Fixpoint sender_view (t : Trace) : list SenderObs :=
  match t with
  | [] => []
  | EvSend op :: rest => ObsSent op :: sender_view rest
  | EvCompletion op res :: rest => ObsCompleted op res :: sender_view rest
  | EvTimeout op :: rest => ObsTimeout op :: sender_view rest
  | _ :: rest => sender_view rest
  end.

(*@ 2.3 Definition sender_indistinguishable: proved as stated *)
Definition sender_indistinguishable (t1 t2 : Trace) : Prop := sender_view t1 = sender_view t2.

(*@ 2.3 Definition op_executed: proved as stated *)
Definition op_executed (t : Trace) (op : Op) : Prop := exists res, In (EvExecute op res) t.

(*@ 2.3 Definition sender_saw_timeout: proved as stated *)
Definition sender_saw_timeout (t : Trace) (op : Op) : Prop := In (EvTimeout op) t.

(* ---- 2.4 Properties -------------------------------------------------------------------------- *)

(*@ 2.4 Definition RetransmitDecision: proved as stated *)
Definition RetransmitDecision := list SenderObs -> Op -> bool.

Record TransparentOverlay := {
  decide_retransmit : RetransmitDecision;
  decision_deterministic : forall obs1 obs2 op,
    obs1 = obs2 -> decide_retransmit obs1 op = decide_retransmit obs2 op
}.

(* The record's second field is true of every function, so it demands nothing. *)
Lemma decision_deterministic_of_every_function : forall (d : RetransmitDecision) obs1 obs2 op,
  obs1 = obs2 -> d obs1 op = d obs2 op.
Proof. intros d obs1 obs2 op ->. reflexivity. Qed.

Definition any_overlay (d : RetransmitDecision) : TransparentOverlay :=
  {| decide_retransmit := d;
     decision_deterministic := decision_deterministic_of_every_function d |}.

(* Used but not printed. *)
Definition op_eq (x y : Op) : bool :=
  match x, y with
  | OpWrite a v, OpWrite b w => Nat.eqb a b && Nat.eqb v w
  | OpRead a, OpRead b => Nat.eqb a b
  | OpFADD a d, OpFADD b e => Nat.eqb a b && Nat.eqb d e
  | OpCAS a e n, OpCAS b f o => Nat.eqb a b && Nat.eqb e f && Nat.eqb n o
  | _, _ => false
  end.

Fixpoint execution_count (t : Trace) (op : Op) : nat :=
  match t with
  | [] => 0
  | EvExecute op' _ :: rest => (if op_eq op op' then 1 else 0) + execution_count rest op
  | _ :: rest => execution_count rest op
  end.

Definition AtMostOnce (t : Trace) : Prop := forall op, execution_count t op <= 1.

(* Two increments by 1, each posted once, executed once, completed: nothing went wrong, and the
   printed predicate says that something did. Work requests need an identity. *)
Definition two_increments : Trace :=
  let op := OpFADD 0 1 in
  [ EvSend op; EvReceive op; EvExecute op (ResFADDVal 0); EvCompletion op (ResFADDVal 0);
    EvSend op; EvReceive op; EvExecute op (ResFADDVal 1); EvCompletion op (ResFADDVal 1) ].

Theorem fault_free_run_violates_printed_AtMostOnce : ~ AtMostOnce two_increments.
Proof. intro h. specialize (h (OpFADD 0 1)). cbn in h. lia. Qed.
