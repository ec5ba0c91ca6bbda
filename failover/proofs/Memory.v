(* SPDX-License-Identifier: BSD-3-Clause

   Memory: a word for every address. Memories are compared address by address, never as functions,
   so nothing here needs functional extensionality. *)

From Coq Require Import Arith Bool RelationClasses.
From PortcullisFailover Require Import Words.

Definition addr := nat.
Definition memory := addr -> word.

Definition blank : memory := fun _ => zero.

Definition read (m : memory) (a : addr) : word := m a.

Definition write (m : memory) (a : addr) (v : word) : memory :=
  fun a' => if Nat.eqb a' a then v else m a'.

Definition same (m m' : memory) : Prop := forall a, m a = m' a.
Notation "m == m'" := (same m m') (at level 70).

Global Instance same_equivalence : Equivalence same.
Proof.
  split.
  - intros m a. reflexivity.
  - intros m m' h a. symmetry. apply h.
  - intros m m' m'' h h' a. rewrite h. apply h'.
Qed.

Lemma read_write_same : forall m a v, read (write m a v) a = v.
Proof. intros. unfold read, write. rewrite Nat.eqb_refl. reflexivity. Qed.

Lemma read_write_other : forall m a b v, a <> b -> read (write m b v) a = read m a.
Proof.
  intros m a b v h. unfold read, write.
  apply Nat.eqb_neq in h. rewrite h. reflexivity.
Qed.

(*@ 2.1 Lemma mem_write_write_same: proved corrected
    Printed as an equality of functions, which Coq has only by an axiom
    (SeedFoundations.mem_write_write_same_as_printed); here address by address. *)
Lemma write_write_same : forall m a v w, write (write m a v) a w == write m a w.
Proof. intros m a v w b. unfold write. destruct (Nat.eqb b a); reflexivity. Qed.

(*@ 2.1 Lemma mem_write_write_comm: proved corrected
    Printed as an equality of functions (SeedFoundations.mem_write_write_comm_as_printed); here
    address by address. *)
Lemma write_write_other : forall m a b v w, a <> b ->
  write (write m a v) b w == write (write m b w) a v.
Proof.
  intros m a b v w h c. unfold write.
  destruct (Nat.eqb_spec c b), (Nat.eqb_spec c a); congruence.
Qed.

(* Writing what stands there already changes nothing. *)
Lemma write_present : forall m a v, m a = v -> write m a v == m.
Proof.
  intros m a v h b. unfold write.
  destruct (Nat.eqb_spec b a); congruence.
Qed.

Lemma write_respects : forall m m' a v, m == m' -> write m a v == write m' a v.
Proof. intros m m' a v h b. unfold write. destruct (Nat.eqb b a); auto. Qed.
