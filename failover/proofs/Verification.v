(* SPDX-License-Identifier: BSD-3-Clause

   T3: after a timeout no protocol finds out whether its CAS was executed, even if it may use every
   operation, CAS included, before and after, and chooses each from the answers to the earlier ones.
   What is missing is evidence, not the consensus power of the operations. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import Words Memory Operations Traces Impossibility.
From PortcullisFailover Require Import Recovery Verdicts.
Import ListNotations.

(* What a client does: operations chosen by the answers so far, then a conclusion. *)
Inductive tree (A : Type) : Type :=
| Conclusion (x : A)
| Issue (o : op) (next : result -> tree A).
Arguments Conclusion {A} x.
Arguments Issue {A} o next.

(* What others do before the client's operation number n, and after its last. *)
Definition schedule := nat -> list outside.

(*@ 5.1 Definition verification_via_reads: proved corrected
    Never used in print; here every answer comes from the memory of that moment, of a READ or of
    any other operation. *)
Fixpoint play {A : Type} (others_at : schedule) (n : nat) (p : tree A) (m : memory) : A * memory :=
  match p with
  | Conclusion x => (x, acts (others_at n) m)
  | Issue o next =>
      let m' := acts (others_at n) m in
      play others_at (S n) (next (answer o m')) (apply o m')
  end.

Definition conclusion {A : Type} (s : schedule) (p : tree A) (m : memory) : A := fst (play s 0 p m).

(* Equal memories give equal answers, to any depth. *)
Lemma play_respects : forall (A : Type) s (p : tree A) n m m', m == m' ->
  fst (play s n p m) = fst (play s n p m') /\ snd (play s n p m) == snd (play s n p m').
Proof.
  intros A s p. induction p as [x | o next IH]; intros n m m' h; cbn.
  - split; [reflexivity | apply acts_respects, h].
  - assert (k : acts (s n) m == acts (s n) m') by (apply acts_respects, h).
    rewrite (answer_respects o _ _ k). apply IH. apply apply_respects, k.
Qed.

(* A protocol around one CAS. K is what it knows when it posts: it may have prepared as it likes. *)
(*@ 5.1 Record TransparentFailover: proved corrected
    Its fields are never used in print; here a protocol acts, before and after. *)
Record protocol := Protocol {
  knowledge : Type;
  prepare : tree knowledge;
  address : knowledge -> addr;
  expected_word : knowledge -> word;
  desired_word : knowledge -> word;
  verify : knowledge -> tree bool          (* true: it was executed *)
}.

Section Worlds.
  Variables (p : protocol) (around : schedule) (later : schedule) (m : memory).

  Let k := fst (play around 0 (prepare p) m).
  Let a := address p k.
  Let e := expected_word p k.
  Let n := desired_word p k.

  (* Another client makes the CAS succeed if it arrives; it may have stood there anyway. *)
  Definition ready : memory := apply (WRITE a e) (snd (play around 0 (prepare p) m)).

  (* World 0: the request is lost. *)
  Definition lost_world : memory := ready.

  (* World 1: it is executed, the reply is lost, and a third party's CAS puts the word back. *)
  Definition executed_world : memory := apply (CAS a n e) (apply (CAS a e n) ready).

  (* Both CAS of world 1 succeed: nothing here is about an operation that failed. *)
  Lemma both_cas_succeed :
    answer (CAS a e n) ready = Old e /\ answer (CAS a n e) (apply (CAS a e n) ready) = Old n.
  Proof.
    assert (h : ready a = e) by apply write_at.
    split; cbn [answer].
    - rewrite h. reflexivity.
    - rewrite (cas_success _ _ _ _ h), write_at. reflexivity.
  Qed.

  Lemma worlds_same : executed_world == lost_world.
  Proof.
    assert (h : ready a = e) by apply write_at.
    unfold executed_world, lost_world. rewrite (cas_success _ _ _ _ h).
    rewrite cas_success by apply write_at. apply rewritten, h.
  Qed.

  Definition verdict (world : memory) : bool := conclusion later (verify p k) world.

  Theorem T3 : verdict executed_world = verdict lost_world.
  Proof. apply play_respects, worlds_same. Qed.

  (*@ 5.1 Definition provides_reliable_cas: proved corrected
      The printed predicate ignores its argument
      (SeedTheorem3.provides_reliable_cas_ignores_its_argument); here with right_when_lost. *)
  Definition right_when_executed : Prop := verdict executed_world = true.
  Definition right_when_lost : Prop := verdict lost_world = false.
End Worlds.

(*@ 5.1 Theorem transparent_cas_failover_impossible: proved corrected
    The printed hypotheses are unused (SeedTheorem3.transparent_cas_failover_impossible_as_printed);
    here about executions, for verifiers that may use every operation. *)
Corollary T3_no_protocol : forall p around later m,
  ~ (right_when_executed p around later m /\ right_when_lost p around later m).
Proof.
  intros p around later m [h k]. unfold right_when_executed, right_when_lost in *.
  rewrite T3, k in h. discriminate.
Qed.

(* Coins do not help: over the seeds of a randomised protocol the errors in the two worlds add up to
   the number of seeds, so in one world at least half of the seeds are wrong. *)
Definition errors {S : Type} (seeds : list S) (wrong : S -> bool) : nat :=
  length (filter wrong seeds).

Theorem T3_randomised : forall (S : Type) (seeds : list S) (p : S -> protocol) around later m,
  errors seeds (fun s => verdict (p s) around later m (lost_world (p s) around m)) +
  errors seeds (fun s => negb (verdict (p s) around later m (executed_world (p s) around m)))
  = length seeds.
Proof.
  intros S seeds p around later m. unfold errors.
  induction seeds as [| s seeds IH]; [reflexivity |].
  cbn [filter]. rewrite T3.
  destruct (verdict (p s) around later m (lost_world (p s) around m));
    cbn [negb length]; lia.
Qed.

Corollary T3_half : forall (S : Type) (seeds : list S) (p : S -> protocol) around later m,
  length seeds <=
    2 * errors seeds (fun s => verdict (p s) around later m (lost_world (p s) around m)) \/
  length seeds <=
    2 * errors seeds (fun s => negb (verdict (p s) around later m (executed_world (p s) around m))).
Proof.
  intros S seeds p around later m.
  pose proof (T3_randomised S seeds p around later m) as h. lia.
Qed.

(* A protocol that reads, and one that agrees through a CAS object of its own, the strongest of
   Herlihy's: T3 is about both, and about every other. *)
Definition is_word (w : word) (r : result) : bool :=
  match r with
  | Old v => eqb v w
  | Acked => false
  end.

Definition reading_protocol (a : addr) : protocol :=
  Protocol unit (Conclusion tt) (fun _ => a) (fun _ => zero) (fun _ => one)
    (fun _ => Issue (READ a) (fun r => Conclusion (is_word one r))).

Definition consensus_protocol (a c : addr) : protocol :=
  Protocol unit (Issue (WRITE c zero) (fun _ => Conclusion tt)) (fun _ => a) (fun _ => zero)
    (fun _ => one)
    (fun _ => Issue (READ a) (fun r =>
       Issue (CAS c zero (if is_word one r then one else zero)) (fun r' =>
         Conclusion (is_word one r')))).

(*@ 5.2 Corollary backup_rnic_insufficient: proved corrected
    The printed hypotheses are unused (SeedTheorem3.backup_rnic_insufficient_as_printed); here the
    verifier does use CAS, on the word and on one of its own. *)
Corollary consensus_objects_do_not_help : forall a c around later m,
  ~ (right_when_executed (consensus_protocol a c) around later m /\
     right_when_lost (consensus_protocol a c) around later m).
Proof. intros. apply T3_no_protocol. Qed.

(* Each half of the specification alone is met, so refuting both together is no empty victory. *)
Lemma each_half_is_satisfiable : forall a m,
  right_when_lost (reading_protocol a) (fun _ => []) (fun _ => []) m /\
  right_when_executed
    (Protocol unit (Conclusion tt) (fun _ => a) (fun _ => zero) (fun _ => one)
      (fun _ => Conclusion true)) (fun _ => []) (fun _ => []) m.
Proof.
  intros a m. split; [| reflexivity].
  unfold right_when_lost, verdict, conclusion, lost_world, ready. cbn [play fst snd reading_protocol
    prepare verify address expected_word acts answer apply is_word].
  rewrite write_at. apply eqb_neq, zero_neq_one.
Qed.
