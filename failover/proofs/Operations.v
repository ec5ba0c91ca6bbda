(* SPDX-License-Identifier: BSD-3-Clause

   The four one-sided operations of a verbs work request and what each does to memory. An atomic
   answers with the word that was there before, as on the wire; whether a CAS succeeded is for the
   requester to compare. *)

From Coq Require Import Arith NArith Bool.
From PortcullisFailover Require Import Words Memory.

Inductive op : Type :=
| WRITE (a : addr) (v : word)
| READ (a : addr)
| FADD (a : addr) (delta : word)
| CAS (a : addr) (expected desired : word).

(*@ 2.2 Inductive OpResult: proved corrected
    The success flag of the printed CAS result is not on the wire: verbs return the old word. *)
Inductive result : Type :=
| Acked               (* of a WRITE *)
| Old (w : word).     (* of a READ and of the atomics *)

(*@ 2.2 Definition exec_fadd: proved corrected
    Addition modulo 2^64. *)
(*@ 2.2 Definition exec_cas: proved corrected
    Without the success flag. *)
Definition apply (o : op) (m : memory) : memory :=
  match o with
  | WRITE a v => write m a v
  | READ _ => m
  | FADD a delta => write m a (add (m a) delta)
  | CAS a expected desired => if eqb (m a) expected then write m a desired else m
  end.

Definition answer (o : op) (m : memory) : result :=
  match o with
  | WRITE _ _ => Acked
  | READ a | FADD a _ | CAS a _ _ => Old (m a)
  end.

Definition exec (m : memory) (o : op) : memory * result := (apply o m, answer o m).

Lemma apply_respects : forall o m m', m == m' -> apply o m == apply o m'.
Proof.
  intros o m m' h. destruct o as [a v | a | a d | a e n]; cbn.
  - apply write_respects, h.
  - exact h.
  - rewrite (h a). apply write_respects, h.
  - rewrite (h a). destruct (eqb (m' a) e); [apply write_respects |]; exact h.
Qed.

Lemma answer_respects : forall o m m', m == m' -> answer o m = answer o m'.
Proof. intros o m m' h. destruct o; cbn; rewrite ?h; reflexivity. Qed.

Lemma cas_success : forall m a e n, m a = e -> apply (CAS a e n) m = write m a n.
Proof. intros m a e n h. cbn. rewrite h, eqb_refl. reflexivity. Qed.

Lemma cas_failure : forall m a e n, m a <> e -> apply (CAS a e n) m = m.
Proof. intros m a e n h. cbn. apply eqb_neq in h. rewrite h. reflexivity. Qed.

(* ---- Twice in a row: idempotence ------------------------------------------------------------- *)

Definition memory_idempotent (o : op) (m : memory) : Prop := apply o (apply o m) == apply o m.

(*@ 4.1 Definition Idempotent: proved corrected
    Printed with an equality of functions; here memories are compared address by address. *)
Definition idempotent (o : op) (m : memory) : Prop :=
  memory_idempotent o m /\ answer o (apply o m) = answer o m.

(*@ 2.2 Lemma write_idempotent: proved corrected
    Printed as an equality of functions; here address by address, and with the result. *)
Lemma write_idempotent : forall m a v, idempotent (WRITE a v) m.
Proof.
  intros m a v. split.
  - apply write_write_same.
  - reflexivity.
Qed.

Lemma read_idempotent : forall m a, idempotent (READ a) m.
Proof. intros m a. split; [intro b |]; reflexivity. Qed.

(* An operation has no effect on m when memory stays as it is. *)
Definition no_effect (o : op) (m : memory) : Prop := apply o m == m.

Lemma fadd_no_effect_iff : forall m a d, no_effect (FADD a d) m <-> d = zero.
Proof.
  intros m a d. unfold no_effect. cbn. split; intro h.
  - specialize (h a). unfold write in h. rewrite Nat.eqb_refl in h.
    apply add_fixed_iff in h. exact h.
  - subst d. apply write_present. symmetry. apply add_zero.
Qed.

Lemma fadd_memory_idempotent_iff : forall m a d, memory_idempotent (FADD a d) m <-> d = zero.
Proof. intros m a d. apply fadd_no_effect_iff. Qed.

Lemma fadd_idempotent_iff : forall m a d, idempotent (FADD a d) m <-> d = zero.
Proof.
  intros m a d. split; intro h.
  - destruct h as [h _]. apply fadd_memory_idempotent_iff in h. exact h.
  - split.
    + apply fadd_memory_idempotent_iff, h.
    + apply answer_respects, fadd_no_effect_iff, h.
Qed.

(* With the delta as the number that an application hands over: the condition is a remainder. *)
Lemma fadd_number_idempotent_iff : forall m a (n : N),
  idempotent (FADD a (of_N n)) m <-> (n mod modulus = 0)%N.
Proof. intros m a n. rewrite fadd_idempotent_iff. apply of_N_zero_iff. Qed.

(* "delta > 0" is not that condition. *)
Lemma fadd_of_2_to_64_idempotent : forall m a,
  (modulus > 0)%N /\ idempotent (FADD a (of_N modulus)) m.
Proof. intros m a. split; [reflexivity | apply fadd_number_idempotent_iff; reflexivity]. Qed.

Lemma cas_no_effect_iff : forall m a e n, no_effect (CAS a e n) m <-> m a <> e \/ e = n.
Proof.
  intros m a e n. unfold no_effect. destruct (word_eq_dec (m a) e) as [h | h].
  - rewrite (cas_success _ _ _ _ h). split; intro k.
    + right. specialize (k a). unfold write in k. rewrite Nat.eqb_refl in k. congruence.
    + apply write_present. destruct k; congruence.
  - rewrite (cas_failure _ _ _ _ h). split; intro k.
    + left. exact h.
    + reflexivity.
Qed.

(* In memory alone, two CAS in a row are always as good as one ... *)
Lemma cas_memory_idempotent : forall m a e n, memory_idempotent (CAS a e n) m.
Proof.
  intros m a e n. unfold memory_idempotent. destruct (word_eq_dec (m a) e) as [h | h].
  - rewrite (cas_success _ _ _ _ h).
    apply cas_no_effect_iff. unfold write. rewrite Nat.eqb_refl.
    destruct (word_eq_dec e n); [right | left]; congruence.
  - rewrite !(cas_failure _ _ _ _ h). reflexivity.
Qed.

(* ... what breaks is the answer: the second one reports the word that the first one put there. *)
(*@ 4.1 Theorem cas_idempotent_iff: proved corrected
    Printed with an ill-typed right-hand side; read with "differs" and "and" it is false
    (SeedTheorem2.printed_cas_condition_is_wrong), it is "differs, or the two words are equal". *)
Lemma cas_idempotent_iff : forall m a e n, idempotent (CAS a e n) m <-> m a <> e \/ e = n.
Proof.
  intros m a e n. split; intro h.
  - destruct h as [_ h]. destruct (word_eq_dec (m a) e) as [k | k]; [right | left; exact k].
    rewrite (cas_success _ _ _ _ k) in h. cbn in h. unfold write in h.
    rewrite Nat.eqb_refl in h. congruence.
  - split.
    + apply cas_memory_idempotent.
    + apply answer_respects, cas_no_effect_iff, h.
Qed.

Lemma write_no_effect_iff : forall m a v, no_effect (WRITE a v) m <-> m a = v.
Proof.
  intros m a v. split; intro h.
  - specialize (h a). cbn in h. unfold write in h. rewrite Nat.eqb_refl in h. symmetry. exact h.
  - apply write_present, h.
Qed.

Lemma no_effect_dec : forall o m, {no_effect o m} + {~ no_effect o m}.
Proof.
  intros [a v | a | a d | a e n] m.
  - destruct (word_eq_dec (m a) v) as [k | k]; [left | right]; rewrite write_no_effect_iff; exact k.
  - left. intro b. reflexivity.
  - destruct (word_eq_dec d zero) as [k | k]; [left | right]; rewrite fadd_no_effect_iff; exact k.
  - destruct (word_eq_dec (m a) e) as [k | k]; [destruct (word_eq_dec e n) as [l | l] |].
    + left. apply cas_no_effect_iff. right. exact l.
    + right. rewrite cas_no_effect_iff. intros [x | x]; contradiction.
    + left. apply cas_no_effect_iff. left. exact k.
Defined.
