(* SPDX-License-Identifier: BSD-3-Clause

   Section 4 of the failover document as printed: FADD and CAS executed twice. Linearizability, in
   the heading of that section, is never stated there; RetriedAtomics.v states it. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import SeedFoundations.
Import ListNotations.

(* ---- 4.1 Idempotence ------------------------------------------------------------------------- *)

Definition Idempotent (op : Op) (m : Memory) : Prop :=
  let (m1, r1) := exec_op m op in
  let (m2, r2) := exec_op m1 op in
  m1 = m2 /\ r1 = r2.

(*@ 4.1 Theorem fadd_non_idempotent: proved as stated
    Over unbounded numbers; on words the condition is a remainder:
    Operations.fadd_number_idempotent_iff. *)
Theorem fadd_non_idempotent : forall a delta m, delta > 0 -> ~ Idempotent (OpFADD a delta) m.
Proof.
  intros a delta m h [e _]. apply (f_equal (fun f => f a)) in e. cbn in e.
  unfold mem_read, mem_write in e. rewrite !Nat.eqb_refl in e. lia.
Qed.

(* The printed right-hand side, read as "m a <> expected /\ expected = new_val": a CAS that fails
   with two different words is idempotent, and the printed condition says that it is not. *)
Theorem printed_cas_condition_is_wrong :
  ~ forall a expected new_val m,
      Idempotent (OpCAS a expected new_val) m <->
      (mem_read m a <> expected /\ expected = new_val).
Proof.
  intro h. destruct (h 0 1 2 init_memory) as [k _].
  assert (i : Idempotent (OpCAS 0 1 2) init_memory) by (split; reflexivity).
  destruct (k i) as [_ e]. discriminate.
Qed.

(* ---- 4.2 FADD -------------------------------------------------------------------------------- *)

Section FADDRetry.
  Variable target_addr : Addr.
  Variable delta : nat.
  Hypothesis delta_pos : delta > 0.

  (*@ 4.2 Definition fadd_init: proved as stated *)
  Definition fadd_init : Memory := init_memory.

  (*@ 4.2 Definition state_after_one: proved as stated *)
  Definition state_after_one : Memory := fst (exec_fadd fadd_init target_addr delta).

  (*@ 4.2 Definition state_after_two: proved as stated *)
  Definition state_after_two : Memory := fst (exec_fadd state_after_one target_addr delta).

  (*@ 4.2 Lemma single_fadd_value: proved as stated *)
  Lemma single_fadd_value : mem_read state_after_one target_addr = delta.
  Proof. unfold state_after_one. cbn. apply mem_read_write_same. Qed.

  (*@ 4.2 Lemma double_fadd_value: proved as stated *)
  Lemma double_fadd_value : mem_read state_after_two target_addr = 2 * delta.
  Proof.
    unfold state_after_two.
    change (mem_read (mem_write state_after_one target_addr
      (mem_read state_after_one target_addr + delta)) target_addr = 2 * delta).
    rewrite mem_read_write_same, single_fadd_value. lia.
  Qed.

  (*@ 4.2 Theorem fadd_retry_state_corruption: proved corrected
      Printed with an equivalence sign between two numbers; "differs from" is meant. *)
  Theorem fadd_retry_state_corruption :
    mem_read state_after_two target_addr <> mem_read state_after_one target_addr.
  Proof. rewrite double_fadd_value, single_fadd_value. lia. Qed.

  (*@ 4.2 table 1: proved as stated *)
  Theorem table_1 :
    mem_read fadd_init target_addr = 0 /\
    (mem_read state_after_one target_addr = delta /\
     snd (exec_fadd fadd_init target_addr delta) = ResFADDVal 0) /\
    (mem_read state_after_two target_addr = 2 * delta /\
     snd (exec_fadd state_after_one target_addr delta) = ResFADDVal delta).
  Proof.
    split; [reflexivity |]. split; split.
    - apply single_fadd_value.
    - reflexivity.
    - apply double_fadd_value.
    - unfold exec_fadd. cbn [snd]. rewrite single_fadd_value. reflexivity.
  Qed.
End FADDRetry.

(* ---- 4.3 CAS --------------------------------------------------------------------------------- *)

Section CASConcurrent.
  Variable target_addr : Addr.

  (*@ 4.3 Definition cas_init: proved as stated *)
  Definition cas_init : Memory := init_memory.

  (*@ 4.3 Definition state_1: proved as stated *)
  Definition state_1 : Memory := fst (exec_cas cas_init target_addr 0 1).

  (*@ 4.3 Definition result_1: proved corrected
      Printed as a constant; here it is what the execution answers. *)
  Definition result_1 : OpResult := snd (exec_cas cas_init target_addr 0 1).

  (*@ 4.3 Definition state_2: proved as stated *)
  Definition state_2 : Memory := fst (exec_cas state_1 target_addr 1 0).

  (*@ 4.3 Definition result_p3: proved corrected
      Printed as a constant; here it is what the execution answers. *)
  Definition result_p3 : OpResult := snd (exec_cas state_1 target_addr 1 0).

  (*@ 4.3 Definition state_3: proved as stated *)
  Definition state_3 : Memory := fst (exec_cas state_2 target_addr 0 1).

  (*@ 4.3 Definition result_3: proved corrected
      Printed as a constant; here it is what the execution answers. *)
  Definition result_3 : OpResult := snd (exec_cas state_2 target_addr 0 1).

  Lemma state_1_value : state_1 target_addr = 1.
  Proof. unfold state_1. cbn. apply mem_read_write_same. Qed.

  Lemma state_2_value : state_2 target_addr = 0.
  Proof.
    unfold state_2, exec_cas, mem_read. rewrite state_1_value. cbn. apply mem_read_write_same.
  Qed.

  Lemma state_3_value : state_3 target_addr = 1.
  Proof.
    unfold state_3, exec_cas, mem_read. rewrite state_2_value. cbn. apply mem_read_write_same.
  Qed.

  (*@ 4.3 Theorem cas_double_success: proved corrected
      Printed about two constants that were defined as successes; here about the computed results.
      That the history is not linearizable: RetriedAtomics.T2_cas. *)
  Theorem cas_double_success :
    result_1 = ResCASResult true 0 /\ result_p3 = ResCASResult true 1 /\
    result_3 = ResCASResult true 0.
  Proof.
    split; [reflexivity |]. split.
    - unfold result_p3, exec_cas, mem_read. rewrite state_1_value. reflexivity.
    - unfold result_3, exec_cas, mem_read. rewrite state_2_value. reflexivity.
  Qed.

  (*@ 4.3 table 2: proved as stated *)
  Theorem table_2 :
    cas_init target_addr = 0 /\
    (state_1 target_addr = 1 /\ result_1 = ResCASResult true 0) /\
    (state_2 target_addr = 0 /\ result_p3 = ResCASResult true 1) /\
    (state_3 target_addr = 1 /\ result_3 = ResCASResult true 0).
  Proof.
    destruct cas_double_success as (r1 & r2 & r3). split; [reflexivity |].
    split; [split; [apply state_1_value | exact r1] |].
    split; [split; [apply state_2_value | exact r2] |].
    split; [apply state_3_value | exact r3].
  Qed.
End CASConcurrent.
