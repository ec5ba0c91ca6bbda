(* SPDX-License-Identifier: BSD-3-Clause

   T2: a retried FADD, a retried CAS and a ghost write are not linearizable. Every result in the
   histories below is computed by executing what the responder executed, nothing is set by hand; and
   each history has a twin without the fault that is linearizable. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import Words Memory Operations Linearizability.
Import ListNotations.

(* What the responder executed, in this order, and what each execution answered. *)
Fixpoint responses (m : memory) (os : list op) : list result :=
  match os with
  | [] => []
  | o :: rest => answer o m :: responses (apply o m) rest
  end.

Definition response (m : memory) (os : list op) (i : nat) : result :=
  nth i (responses m os) Acked.

Definition target : addr := 0.
Definition two : word := add one one.

(* ---- FADD retried: executed at place 0, its reply lost; executed again at place 1 ------------ *)

Definition fadd_runs : list op := [FADD target one; FADD target one; READ target].

(* The application made one call and got the answer of the retry; a reader looked afterwards. *)
Definition fadd_retry_history : history :=
  [Call 0 5 (FADD target one) (response blank fadd_runs 1);
   Call 6 7 (READ target) (response blank fadd_runs 2)].

Definition fadd_once_runs : list op := [FADD target one; READ target].

Definition fadd_once_history : history :=
  [Call 0 5 (FADD target one) (response blank fadd_once_runs 0);
   Call 6 7 (READ target) (response blank fadd_once_runs 1)].

Theorem T2_fadd : ~ linearizable blank fadd_retry_history /\ linearizable blank fadd_once_history.
Proof.
  split.
  - apply not_linearizable. vm_compute. reflexivity.
  - apply linearizable_b_iff. vm_compute. reflexivity.
Qed.

(* Nor does it help to hand the application the answer of the first execution, were it known. *)
Theorem T2_fadd_first_answer : ~ linearizable blank
  [Call 0 5 (FADD target one) (response blank fadd_runs 0);
   Call 6 7 (READ target) (response blank fadd_runs 2)].
Proof. apply not_linearizable. vm_compute. reflexivity. Qed.

(* ---- CAS retried after a third party has put the word back ----------------------------------- *)

Definition cas_runs : list op :=
  [CAS target zero one; CAS target one zero; CAS target zero one; READ target].

Definition cas_retry_history : history :=
  [Call 0 9 (CAS target zero one) (response blank cas_runs 2);      (* told: succeeded *)
   Call 3 4 (CAS target one zero) (response blank cas_runs 1);      (* told: succeeded *)
   Call 10 11 (READ target) (response blank cas_runs 3)].           (* reads 1 *)

Definition cas_once_runs : list op := [CAS target zero one; CAS target one zero; READ target].

Definition cas_once_history : history :=
  [Call 0 9 (CAS target zero one) (response blank cas_once_runs 0);
   Call 3 4 (CAS target one zero) (response blank cas_once_runs 1);
   Call 10 11 (READ target) (response blank cas_once_runs 2)].

Theorem T2_cas : ~ linearizable blank cas_retry_history /\ linearizable blank cas_once_history.
Proof.
  split.
  - apply not_linearizable. vm_compute. reflexivity.
  - apply linearizable_b_iff. vm_compute. reflexivity.
Qed.

(* In a quiet place memory is right, but the application is told that its CAS failed. *)
Definition cas_quiet_runs : list op := [CAS target zero one; CAS target zero one; READ target].

Theorem T2_cas_quiet_answer : ~ linearizable blank
  [Call 0 9 (CAS target zero one) (response blank cas_quiet_runs 1);
   Call 10 11 (READ target) (response blank cas_quiet_runs 2)].
Proof. apply not_linearizable. vm_compute. reflexivity. Qed.

(* ---- Ghost write: a WRITE of 1, consumed, its buffer reused for 2, retransmitted ------------- *)

Definition ghost_runs : list op :=
  [WRITE target one; READ target; WRITE target two; WRITE target one; READ target].

(* Places 0 and 3 are the two executions of one WRITE, whose call spans them. *)
Definition ghost_history : history :=
  [Call 0 9 (WRITE target one) Acked;
   Call 2 3 (READ target) (response blank ghost_runs 1);        (* the consumer's read of 1 *)
   Call 4 5 (WRITE target two) (response blank ghost_runs 2);   (* the reuse *)
   Call 10 11 (READ target) (response blank ghost_runs 4)].     (* 1 again *)

(* Without the consumer's read the same memory is a legal history: the WRITE took effect late. A
   statement about ghost writes that does not contain the read states nothing. *)
Definition ghost_unread_history : history :=
  [Call 0 9 (WRITE target one) Acked;
   Call 4 5 (WRITE target two) (response blank ghost_runs 2);
   Call 10 11 (READ target) (response blank ghost_runs 4)].

Definition no_ghost_runs : list op :=
  [WRITE target one; READ target; WRITE target two; READ target].

Definition no_ghost_history : history :=
  [Call 0 9 (WRITE target one) Acked;
   Call 2 3 (READ target) (response blank no_ghost_runs 1);
   Call 4 5 (WRITE target two) (response blank no_ghost_runs 2);
   Call 10 11 (READ target) (response blank no_ghost_runs 3)].

Theorem T2_ghost_write :
  ~ linearizable blank ghost_history /\
  linearizable blank ghost_unread_history /\
  linearizable blank no_ghost_history.
Proof.
  split; [| split].
  - apply not_linearizable. vm_compute. reflexivity.
  - apply linearizable_b_iff. vm_compute. reflexivity.
  - apply linearizable_b_iff. vm_compute. reflexivity.
Qed.

(* ---- For every address, memory and delta ----------------------------------------------------- *)

(* Whatever FADD that changes anything: retried, then read, is no history of one FADD. *)
Theorem T2_fadd_general : forall m a d i r j k, d <> zero -> r < j ->
  let m2 := apply (FADD a d) (apply (FADD a d) m) in
  ~ linearizable m [Call i r (FADD a d) (answer (FADD a d) (apply (FADD a d) m));
                    Call j k (READ a) (answer (READ a) m2)].
Proof.
  intros m a d i r j k nz rj m2 (o & p & t & l).
  apply orders_iff in p. cbn in p. destruct p as [<- | [<- | []]].
  - cbn in l. destruct l as [l _]. injection l as l. unfold write in l.
    rewrite Nat.eqb_refl in l. symmetry in l. apply add_fixed_iff in l. contradiction.
  - cbn in t. destruct t as [t _]. exact (t _ (or_introl eq_refl) rj).
Qed.

(* Whatever CAS that changes anything: it succeeds, a third party takes it back, it succeeds again,
   and a reader finds its word. *)
Theorem T2_cas_general : forall m a e n, e <> n -> m a = e ->
  let m1 := apply (CAS a e n) m in
  let m2 := apply (CAS a n e) m1 in
  let m3 := apply (CAS a e n) m2 in
  ~ linearizable m [Call 0 9 (CAS a e n) (answer (CAS a e n) m2);
                    Call 3 4 (CAS a n e) (answer (CAS a n e) m1);
                    Call 10 11 (READ a) (answer (READ a) m3)].
Proof.
  intros m a e n d at_e m1 m2 m3.
  assert (v1 : m1 a = n).
  { subst m1. rewrite (cas_success _ _ _ _ at_e). apply (read_write_same m a n). }
  assert (v2 : m2 a = e).
  { subst m2. rewrite (cas_success _ _ _ _ v1). apply (read_write_same m1 a e). }
  assert (v3 : m3 a = n).
  { subst m3. rewrite (cas_success _ _ _ _ v2). apply (read_write_same m2 a n). }
  cbn [answer]. rewrite v1, v2, v3. clearbody m1 m2 m3.
  intros (o & p & t & l). apply orders_iff in p. cbn in p.
  (* The reader comes last in real time, which leaves two orders. *)
  repeat destruct p as [<- | p]; [.. | contradiction]; cbn [in_real_time] in t;
    try (exfalso; destruct t as (t1 & t2 & _);
      first [refine (t1 _ (or_introl eq_refl) _); cbn; lia
            | refine (t1 _ (or_intror (or_introl eq_refl)) _); cbn; lia
            | refine (t2 _ (or_introl eq_refl) _); cbn; lia]).
  - cbn [legal operation outcome] in l. destruct l as (_ & _ & l & _).
    assert (w1 : apply (CAS a e n) m a = n).
    { rewrite (cas_success _ _ _ _ at_e). apply (read_write_same m a n). }
    rewrite (cas_success _ _ _ _ w1) in l. cbn in l. unfold write in l.
    rewrite Nat.eqb_refl in l. congruence.
  - cbn [legal operation outcome] in l. destruct l as (l & _). cbn in l. congruence.
Qed.

(* Whatever WRITE over a buffer that was read and reused: the second reader tells on it. *)
Theorem T2_ghost_write_general : forall m a v w, m a <> v -> v <> w ->
  let read_first := write m a v in
  let read_last := write (write read_first a w) a v in
  ~ linearizable m [Call 0 9 (WRITE a v) Acked;
                    Call 2 3 (READ a) (answer (READ a) read_first);
                    Call 4 5 (WRITE a w) Acked;
                    Call 10 11 (READ a) (answer (READ a) read_last)].
Proof.
  intros m a v w d dw read_first read_last.
  assert (v1 : read_first a = v) by apply (read_write_same m a v).
  assert (v2 : read_last a = v) by apply (read_write_same (write read_first a w) a v).
  cbn [answer]. rewrite v1, v2. clearbody read_first read_last.
  intros (o & p & t & l). apply orders_iff in p. cbn in p.
  (* Real time leaves the place of the first WRITE open, and nothing else. *)
  repeat destruct p as [<- | p]; [.. | contradiction]; cbn [in_real_time] in t;
    try (exfalso; destruct t as (t1 & t2 & t3 & _);
      first [refine (t1 _ (or_introl eq_refl) _); cbn; lia
            | refine (t1 _ (or_intror (or_introl eq_refl)) _); cbn; lia
            | refine (t1 _ (or_intror (or_intror (or_introl eq_refl))) _); cbn; lia
            | refine (t2 _ (or_introl eq_refl) _); cbn; lia
            | refine (t2 _ (or_intror (or_introl eq_refl)) _); cbn; lia
            | refine (t3 _ (or_introl eq_refl) _); cbn; lia]);
    cbn [legal operation outcome apply answer] in l; clear t.
  - destruct l as (_ & _ & _ & l & _). injection l as l. unfold write in l.
    rewrite Nat.eqb_refl in l. congruence.
  - destruct l as (l & _). injection l as l. contradiction.
  - destruct l as (l & _). injection l as l. contradiction.
Qed.
