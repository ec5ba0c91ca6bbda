(* SPDX-License-Identifier: BSD-3-Clause

   Words of 64 bits. A remote FADD wraps at 2^64, so words are numbers below 2^64 and no others:
   over unbounded numbers "delta > 0" would look like the condition for a visible FADD. *)

From Coq Require Import NArith Lia Bool Eqdep_dec.
Local Open Scope N_scope.

Definition modulus : N := 2 ^ 64.

(* The range is a boolean equality, so it has one proof and two words with equal bits are equal. *)
(*@ 2.1 Definition Val: proved corrected
    Words have 64 bits; printed as nat, over which a FADD never wraps. *)
Record word : Set := Word { bits : N; in_range : (bits <? modulus) = true }.

Lemma bits_injective : forall u v : word, bits u = bits v -> u = v.
Proof.
  intros [x p] [y q] e; cbn in e; subst y.
  rewrite (UIP_dec bool_dec p q). reflexivity.
Qed.

Lemma wrapped_in_range : forall n, (n mod modulus <? modulus) = true.
Proof. intro n. apply N.ltb_lt, N.mod_lt. discriminate. Qed.

(* What a 64-bit register holds after n was put into it. *)
Definition of_N (n : N) : word := Word (n mod modulus) (wrapped_in_range n).

Definition add (u v : word) : word := of_N (bits u + bits v).
Definition eqb (u v : word) : bool := bits u =? bits v.

Definition zero : word := of_N 0.
Definition one : word := of_N 1.
Definition greatest : word := of_N (modulus - 1).

Lemma bits_below : forall u, bits u < modulus.
Proof. intros [n p]. apply N.ltb_lt, p. Qed.

Lemma of_bits : forall u, of_N (bits u) = u.
Proof.
  intro u. apply bits_injective. cbn [bits of_N].
  apply N.mod_small, bits_below.
Qed.

Lemma of_N_eq_iff : forall n k, of_N n = of_N k <-> n mod modulus = k mod modulus.
Proof.
  intros n k; split; intro e.
  - exact (f_equal bits e).
  - apply bits_injective. exact e.
Qed.

(* The condition on a delta that is handed to FADD as a number: not "> 0". *)
Lemma of_N_zero_iff : forall n, of_N n = zero <-> n mod modulus = 0.
Proof. intro n. unfold zero. rewrite of_N_eq_iff. reflexivity. Qed.

Lemma eqb_eq : forall u v, eqb u v = true <-> u = v.
Proof.
  intros u v. unfold eqb. rewrite N.eqb_eq. split.
  - apply bits_injective.
  - congruence.
Qed.

Lemma eqb_refl : forall u, eqb u u = true.
Proof. intro u. apply eqb_eq. reflexivity. Qed.

Lemma eqb_neq : forall u v, eqb u v = false <-> u <> v.
Proof.
  intros u v. rewrite <- (eqb_eq u v). destruct (eqb u v); split; congruence.
Qed.

Lemma word_eq_dec : forall u v : word, {u = v} + {u <> v}.
Proof.
  intros u v. destruct (eqb u v) eqn:e.
  - left. apply eqb_eq, e.
  - right. apply eqb_neq, e.
Defined.

Lemma add_zero : forall u, add u zero = u.
Proof.
  intro u. unfold add. cbn [bits zero of_N].
  change (0 mod modulus) with 0. rewrite N.add_0_r. apply of_bits.
Qed.

(* Adding moves a word unless the addend is 0: nothing else is a multiple of 2^64. *)
Lemma add_fixed_iff : forall u v, add u v = u <-> v = zero.
Proof.
  intros u v; split; intro e.
  - apply bits_injective. apply (f_equal bits) in e. cbn [bits add of_N zero] in *.
    change (0 mod modulus) with 0.
    pose proof (bits_below u) as hu. pose proof (bits_below v) as hv.
    destruct (N.lt_ge_cases (bits u + bits v) modulus) as [lt | ge].
    + rewrite N.mod_small in e by exact lt. lia.
    + rewrite <- (N.mod_unique (bits u + bits v) modulus 1 (bits u + bits v - modulus)) in e by lia.
      lia.
  - subst v. apply add_zero.
Qed.

Lemma zero_neq_one : zero <> one.
Proof. intro e. apply (f_equal bits) in e. vm_compute in e. discriminate. Qed.

(* Every word has another one, which is all that the adversaries below need. *)
Definition other (u : word) : word := add u one.

Lemma other_differs : forall u, other u <> u.
Proof.
  intros u e. apply add_fixed_iff in e. exact (zero_neq_one (eq_sym e)).
Qed.
