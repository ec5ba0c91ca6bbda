(* SPDX-License-Identifier: BSD-3-Clause

   T4a: a receipt, a WRITE beside the atomic on the same ordered QP, proves nothing about the
   atomic. A QP executes a prefix of what was posted; cut it just before the atomic, or just after
   it and let a third party put the word back, and memory is the same. It does not matter where in
   the queue the receipts stand, nor how many. A record made in the step of the update decides. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import Words Memory Operations Traces Impossibility Recovery.
From PortcullisFailover Require Import Verdicts Verification.
Import ListNotations.

(* The first k work requests of a queue. *)
Fixpoint queue (os : list op) (m : memory) : memory :=
  match os with
  | [] => m
  | o :: rest => queue rest (apply o m)
  end.

Lemma queue_app : forall os os' m, queue (os ++ os') m = queue os' (queue os m).
Proof. induction os; intros; cbn; auto. Qed.

Section Receipt.
  Variables (a : addr) (e n : word) (before after : list op) (m : memory).

  Definition posted_queue : list op := before ++ CAS a e n :: after.

  (* Cut before the atomic. Another client has made sure that it would succeed. *)
  Definition cut_before : memory :=
    apply (WRITE a e) (queue (firstn (length before) posted_queue) m).

  (* Cut after it: the same, and it executes, and a third party puts the word back. *)
  Definition cut_after : memory :=
    apply (CAS a n e) (queue (firstn 1 (skipn (length before) posted_queue)) cut_before).

  Lemma atomic_executes : firstn 1 (skipn (length before) posted_queue) = [CAS a e n].
  Proof.
    unfold posted_queue. rewrite skipn_app, skipn_all, Nat.sub_diag. reflexivity.
  Qed.

  (* The atomic does succeed where it is executed. *)
  Lemma atomic_succeeds : cut_before a = e /\ apply (CAS a e n) cut_before a = n.
  Proof.
    assert (h : cut_before a = e) by apply write_at. split; [exact h |].
    rewrite (cas_success _ _ _ _ h). apply write_at.
  Qed.

  Lemma cuts_same : cut_after == cut_before.
  Proof.
    assert (h : cut_before a = e) by apply write_at.
    unfold cut_after. rewrite atomic_executes. cbn [queue].
    rewrite (cas_success _ _ _ _ h), cas_success by apply write_at. apply rewritten, h.
  Qed.

  Theorem T4a : forall (later : schedule) (verifier : tree bool),
    conclusion later verifier cut_after = conclusion later verifier cut_before.
  Proof. intros later verifier. apply play_respects, cuts_same. Qed.

  (* "The atomic was executed", concluded from the receipts, is wrong in one of the two. *)
  Corollary T4a_no_verifier : forall later verifier,
    ~ (conclusion later verifier cut_after = true /\ conclusion later verifier cut_before = false).
  Proof. intros later verifier [h k]. rewrite T4a, k in h. discriminate. Qed.
End Receipt.

(* The two placements of one receipt word r. *)
Corollary receipt_after_the_atomic : forall a e n r v m later verifier,
  ~ (conclusion later verifier (cut_after a e n [] [WRITE r v] m) = true /\
     conclusion later verifier (cut_before a e n [] [WRITE r v] m) = false).
Proof. intros. apply T4a_no_verifier. Qed.

Corollary receipt_before_the_atomic : forall a e n r v m later verifier,
  ~ (conclusion later verifier (cut_after a e n [WRITE r v] [] m) = true /\
     conclusion later verifier (cut_before a e n [WRITE r v] [] m) = false).
Proof. intros. apply T4a_no_verifier. Qed.

(* ---- What does work: the record is made in the step of the update ---------------------------- *)

Definition recorded (r : addr) (v : word) (o : op) (m : memory) : memory := write (apply o m) r v.

Definition read_record (r : addr) (v : word) : tree bool :=
  Issue (READ r) (fun x => Conclusion (is_word v x)).

(* Whatever others do meanwhile, as long as the record is left to its owner. *)
Theorem atomic_record_decides : forall (G : environment) r v o m gs (later : schedule),
  (forall g, G g -> forall x, act g x r = x r) ->
  Forall G gs -> (forall i, Forall G (later i)) -> m r <> v ->
  conclusion later (read_record r v) (acts gs (recorded r v o m)) = true /\
  conclusion later (read_record r v) (acts gs m) = false.
Proof.
  intros G r v o m gs later alone f fl fresh_record.
  assert (keep : forall hs x w, Forall G hs -> x r = w -> acts hs x r = w).
  { intros hs x w fh k. apply (acts_invariant G (fun y : memory => y r = w) hs); auto.
    intros g i y l. rewrite (alone g i). exact l. }
  unfold conclusion. cbn. split.
  - apply eqb_eq. apply keep; [apply fl |]. apply keep; [exact f | apply write_at].
  - apply eqb_neq. rewrite (keep (later 0) _ (m r)); auto.
Qed.

(* Its hypotheses hold of something: others that work on another word. *)
Lemma atomic_record_witness : forall r : addr,
  (forall g, only [FADD (S r) one] g -> forall x, act g x r = x r) /\ blank r <> one.
Proof.
  intro r. split.
  - intros g (o & [<- | []] & ->) x. cbn. unfold write.
    replace (Nat.eqb r (S r)) with false; [reflexivity | symmetry; apply Nat.eqb_neq; lia].
  - apply zero_neq_one.
Qed.

(* ---- A responder that looks at the record before it executes ----------------------------------- *)

(* The completion log of a repost: whoever finds the record does nothing. *)
Definition deduplicated (r : addr) (v : word) (o : op) (m : memory) : memory :=
  if eqb (m r) v then m else recorded r v o m.

Fixpoint replay_by (f : memory -> memory) (m : memory) (l : list effect) : memory :=
  match l with
  | [] => m
  | Here :: rest => replay_by f (f m) rest
  | There g :: rest => replay_by f (act g m) rest
  end.

Lemma deduplicated_afterwards : forall (G : environment) r v o l m,
  (forall g, G g -> forall x, act g x r = x r) -> Forall G (others l) -> m r = v ->
  replay_by (deduplicated r v o) m l = acts (others l) m.
Proof.
  intros G r v o l m alone. revert m. induction l as [| [| g] l IH]; intros m f h; cbn.
  - reflexivity.
  - unfold deduplicated at 2. rewrite h, eqb_refl. apply IH; assumption.
  - inversion f; subst. apply IH; [assumption |]. apply alone. assumption.
Qed.

(* Any operation, FADD included, any number of copies, at any time: the first one to arrive executes,
   the others do nothing, as long as the record is left to its owner. *)
Theorem deduplicated_exactly_once : forall (G : environment) r v o before after m,
  (forall g, G g -> forall x, act g x r = x r) ->
  Forall G before -> Forall G (others after) -> m r <> v ->
  replay_by (deduplicated r v o) m (map There before ++ Here :: after) =
  acts (others after) (apply (WRITE r v) (apply o (acts before m))).
Proof.
  intros G r v o before after m alone. revert m.
  induction before as [| g before IH]; intros m fb fa h; cbn.
  - unfold deduplicated at 2. replace (eqb (m r) v) with false by (symmetry; apply eqb_neq, h).
    apply (deduplicated_afterwards G); [exact alone | exact fa | apply write_at].
  - inversion fb; subst. apply IH; [assumption | assumption |]. rewrite alone; assumption.
Qed.
