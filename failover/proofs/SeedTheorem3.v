(* SPDX-License-Identifier: BSD-3-Clause

   Section 5 of the failover document as printed. Two of its axioms contradict each other, the third
   says nothing; the rest reduces to "a function has one value". And the explanation does not hold:
   what is missing after a timeout is evidence, not consensus power. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import SeedFoundations.
From PortcullisFailover Require Words Memory Operations Traces Impossibility Recovery Solvability.
From PortcullisFailover Require Verdicts Linearizability RetriedAtomics Verification Detectability.
Import ListNotations.

(* ---- 5.1 The hierarchy ----------------------------------------------------------------------- *)

(*@ 5.1 Definition ConsensusNum: proved as stated *)
Definition ConsensusNum := option nat.

(*@ 5.1 Definition cn_one: proved as stated *)
Definition cn_one : ConsensusNum := Some 1.

(*@ 5.1 Definition cn_two: proved as stated *)
Definition cn_two : ConsensusNum := Some 2.

(*@ 5.1 Definition cn_infinity: proved as stated *)
Definition cn_infinity : ConsensusNum := None.

(*@ 5.1 Inductive ObjectType: proved as stated *)
Inductive ObjectType : Type :=
| ObjRegister | ObjTestAndSet | ObjFetchAndAdd
| ObjSwap | ObjCAS | ObjLLSC.

(*@ 5.1 Definition consensus_number: proved as stated *)
Definition consensus_number (obj : ObjectType) : ConsensusNum :=
  match obj with
  | ObjRegister => cn_one
  | ObjTestAndSet => cn_two
  | ObjFetchAndAdd => cn_two
  | ObjSwap => cn_two
  | ObjCAS => cn_infinity
  | ObjLLSC => cn_infinity
  end.

(* Used but not printed. *)
Definition cn_lt (x y : ConsensusNum) : Prop :=
  match x, y with
  | Some m, Some n => m < n
  | Some _, None => True
  | None, _ => False
  end.

Definition cn_le (x y : ConsensusNum) : Prop :=
  match x, y with
  | Some m, Some n => m <= n
  | _, None => True
  | None, Some _ => False
  end.

(* The printed axioms as propositions, for whatever the undefined ConsensusObject may be. *)
Definition universality (ConsensusObject : nat -> Type) : Prop :=
  forall obj n, cn_le (Some n) (consensus_number obj) -> exists (C : ConsensusObject n), True.

Definition impossibility (ConsensusObject : nat -> Type) : Prop :=
  forall obj n, cn_lt (consensus_number obj) (Some n) -> ~ exists (C : ConsensusObject n), True.

(*@ 5.1 Axiom universality: refuted
    With the next axiom it proves False: neither conclusion mentions obj, so CAS and registers at
    n = 2 contradict each other. *)
(*@ 5.1 Axiom impossibility: refuted
    With the axiom before it proves False. *)
Theorem printed_axioms_contradict : forall ConsensusObject : nat -> Type,
  universality ConsensusObject -> impossibility ConsensusObject -> False.
Proof.
  intros C u i. apply (i ObjRegister 2); [cbn; lia |]. apply (u ObjCAS 2). exact I.
Qed.

(* Each alone is consistent, so it is the pair that is at fault. *)
Lemma each_printed_axiom_is_consistent :
  universality (fun _ => unit) /\ impossibility (fun _ => Empty_set).
Proof.
  split.
  - intros obj n _. exists tt. exact I.
  - intros obj n _ [[] _].
Qed.

(*@ 5.1 Axiom no_boost: proved as stated
    Its conclusion is True: it says nothing. *)
Theorem no_boost : forall obj1 obj2,
  cn_lt (consensus_number obj1) (consensus_number obj2) -> True.
Proof. intros. exact I. Qed.

Record TransparentFailover := {
  can_read_remote : Addr -> Memory -> Val;
  no_metadata_writes : Prop;
  decision_from_reads : list (Addr * Val) -> bool
}.

Definition verification_via_reads (tf : TransparentFailover) : Prop :=
  forall m addr, tf.(can_read_remote) addr m = mem_read m addr.

(* ---- 5.3 The reduction ----------------------------------------------------------------------- *)

(*@ 5.3 Definition VerificationMechanism: proved as stated
    A function of memory; Verification.tree is a protocol that may also act. *)
Definition VerificationMechanism := Memory -> bool.

(* Used but not printed. The memory of a history is free: no execution connects it to anything. *)
Inductive History : Type :=
| HistExecuted : Memory -> History
| HistNotExecuted : Memory -> History.

Definition final_memory (h : History) : Memory :=
  match h with
  | HistExecuted m | HistNotExecuted m => m
  end.

Definition correct_decision_for (h : History) : bool :=
  match h with
  | HistExecuted _ => true
  | HistNotExecuted _ => false
  end.

(*@ 5.3 Definition solves_failover: proved as stated
    History, final_memory and correct_decision_for are used in print without a definition. *)
Definition solves_failover (V : VerificationMechanism) : Prop :=
  forall h : History, V (final_memory h) = correct_decision_for h.

Section Witness.
  Variable init_mem : Memory.

  (*@ 5.3 Definition H1: proved as stated *)
  Definition H1 : History := HistExecuted init_mem.

  (*@ 5.3 Definition H0: proved as stated *)
  Definition H0 : History := HistNotExecuted init_mem.

  (*@ 5.3 Lemma H0_H1_same_memory: proved as stated
      By definition. That two executions end in one memory: Verification.worlds_same. *)
  Lemma H0_H1_same_memory : final_memory H0 = final_memory H1.
  Proof. reflexivity. Qed.

  (*@ 5.3 Lemma H0_H1_different_decisions: proved corrected
      Printed with an equivalence sign between two booleans; "differs from" is meant. *)
  Lemma H0_H1_different_decisions : correct_decision_for H0 <> correct_decision_for H1.
  Proof. discriminate. Qed.
End Witness.

(*@ 5.3 Theorem failover_unsolvable: proved as stated
    It says that no function is both true and false of one memory. The statement about executions
    is Verification.T3. *)
Theorem failover_unsolvable : forall V : VerificationMechanism, ~ solves_failover V.
Proof.
  intros V h. pose proof (h (H0 init_memory)) as h0. pose proof (h (H1 init_memory)) as h1.
  cbn in h0, h1. congruence.
Qed.

Definition provides_reliable_cas (tf : TransparentFailover) : Prop :=
  exists V : VerificationMechanism, solves_failover V.

(* The two theorems of 5.1 and 5.2 as printed: their hypotheses are unused, and could not be used,
   for the predicate does not look at its argument. *)
Lemma provides_reliable_cas_ignores_its_argument : forall tf tf',
  provides_reliable_cas tf <-> provides_reliable_cas tf'.
Proof. intros tf tf'. unfold provides_reliable_cas. tauto. Qed.

Theorem transparent_cas_failover_impossible_as_printed : forall tf : TransparentFailover,
  verification_via_reads tf -> tf.(no_metadata_writes) -> ~ provides_reliable_cas tf.
Proof. intros tf _ _ [V h]. exact (failover_unsolvable V h). Qed.

Theorem backup_rnic_insufficient_as_printed : forall tf : TransparentFailover,
  (exists backup_cas : Addr -> Val -> Val -> Memory -> Memory * (bool * Val), True) ->
  verification_via_reads tf -> tf.(no_metadata_writes) -> ~ provides_reliable_cas tf.
Proof. intros tf _ _ _ [V h]. exact (failover_unsolvable V h). Qed.

(* ---- 5.2 The barrier ------------------------------------------------------------------------- *)

(*@ 5.2 table 3: proved as stated
    As a property of the printed function. Herlihy's theorem is not proved, and not needed. *)
Theorem table_3 :
  consensus_number ObjRegister = Some 1 /\
  (consensus_number ObjTestAndSet = Some 2 /\ consensus_number ObjFetchAndAdd = Some 2 /\
   consensus_number ObjSwap = Some 2) /\
  (consensus_number ObjCAS = None /\ consensus_number ObjLLSC = None).
Proof. repeat split. Qed.

(* A protocol that uses READ and nothing else. *)
Fixpoint only_reads {A : Type} (p : Verification.tree A) : Prop :=
  match p with
  | Verification.Conclusion _ => True
  | Verification.Issue o next =>
      (exists a, o = Operations.READ a) /\ forall r, only_reads (next r)
  end.

(* Two processes agree by one CAS on a word that is 0: who comes first has its proposal taken. *)
Definition propose (c : Memory.addr) (v : Words.word) : Verification.tree Words.word :=
  Verification.Issue (Operations.CAS c Words.zero v) (fun r =>
    Verification.Conclusion (match r with
      | Operations.Old w => if Words.eqb w Words.zero then v else w
      | Operations.Acked => v
      end)).

(* The process that acts first, and the one after it; each has one operation, so the runs are these
   two orders and those in which one does not take part. *)
Definition decisions (c : Memory.addr) (v w : Words.word) (m : Memory.memory)
  : Words.word * Words.word :=
  let (x, m') := Verification.play (fun _ => []) 0 (propose c v) m in
  (x, fst (Verification.play (fun _ => []) 0 (propose c w) m')).

Lemma consensus_by_cas : forall c v w m, m c = Words.zero -> v <> Words.zero ->
  decisions c v w m = (v, v).
Proof.
  intros c v w m z n. unfold decisions. cbn. rewrite z, Words.eqb_refl.
  unfold Memory.write. rewrite Nat.eqb_refl.
  apply Words.eqb_neq in n. rewrite n. reflexivity.
Qed.

(*@ 5.3 table structural_isomorphism: refuted
    Refuted is that the two problems are equally hard, so that the answer to one is that to the
    other: with CAS two processes agree on a proposal, while no verifier finds out whether its CAS
    was executed, whatever operations it uses; and where overwriters help first two READs do find
    out. Not refuted: the rows as names of the parts, and the printed failover_unsolvable. That READs
    alone never agree, Herlihy's theorem, is neither used nor proved. *)
Theorem the_barrier_is_not_the_consensus_number :
  (forall c v w m, m c = Words.zero -> v <> Words.zero -> decisions c v w m = (v, v)) /\
  (forall p around later m,
     ~ (Verification.right_when_executed p around later m /\
        Verification.right_when_lost p around later m)) /\
  (forall a slot tag, only_reads (Detectability.detect a slot tag)) /\
  (forall a slot e tag G later m l,
     Detectability.contract a slot tag G -> a <> slot -> e <> tag ->
     ~ Detectability.marked a slot tag m ->
     Forall G (Recovery.others l) -> (forall i, Forall G (later i)) ->
     (Verification.conclusion later (Detectability.detect a slot tag)
        (Recovery.replay (Operations.CAS a e tag) m l) = true <->
      Detectability.took_effect a e tag m l)).
Proof.
  split; [apply consensus_by_cas |]. split; [apply Verification.T3_no_protocol |]. split.
  - intros a slot tag. cbn. split; [exists a; reflexivity |]. intro r.
    destruct (Verification.is_word tag r); cbn; [exact I |].
    split; [exists slot; reflexivity | intro; exact I].
  - intros. apply Detectability.T4c_reads_decide with (G := G); assumption.
Qed.

(* ---- 6 Summary ------------------------------------------------------------------------------- *)

(*@ 6 table 4: proved corrected
    Its four rows as they hold: T1, FADD on words, the retried CAS as a history, T3 in the place of
    "reads cannot solve 2-consensus". *)
Theorem table_4 :
  (forall G D m o gs, Forall G gs -> ~ Operations.no_effect o m -> ~ Solvability.absorbed o gs m ->
     exists t s t' s' r, Solvability.timed_out_run G m o t s /\
       Impossibility.recovery G o (D (Traces.view t) 0) s t' s' r /\
       ~ Recovery.once o m (Recovery.effects t ++ Recovery.effects t')) /\
  (forall m a n, Operations.idempotent (Operations.FADD a (Words.of_N n)) m <->
     BinNat.N.modulo n Words.modulus = BinNums.N0) /\
  ~ Linearizability.linearizable Memory.blank RetriedAtomics.cas_retry_history /\
  (forall p around later m,
     ~ (Verification.right_when_executed p around later m /\
        Verification.right_when_lost p around later m)).
Proof.
  split; [apply Solvability.T1 |]. split; [apply Operations.fadd_number_idempotent_iff |].
  split; [apply RetriedAtomics.T2_cas | apply Verification.T3_no_protocol].
Qed.
