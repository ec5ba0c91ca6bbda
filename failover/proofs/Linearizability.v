(* SPDX-License-Identifier: BSD-3-Clause

   Linearizability of a history of operations, defined (some order of the calls respects real time
   and the sequential meaning of the operations), decided by a function, and the function proved to
   decide it. So the refutations of T2 are computations over a checker that can say yes. *)

From Coq Require Import Arith Bool List Permutation Lia.
From PortcullisFailover Require Import Words Memory Operations.
Import ListNotations.

(* A call by some client, who learnt the result. Times are places on one clock; calls overlap unless
   one returned before the other was made. *)
Record call := Call {
  invoked : nat;
  returned : nat;
  operation : op;
  outcome : result
}.

Definition history := list call.

Definition result_eqb (x y : result) : bool :=
  match x, y with
  | Acked, Acked => true
  | Old u, Old v => eqb u v
  | _, _ => false
  end.

Lemma result_eqb_eq : forall x y, result_eqb x y = true <-> x = y.
Proof.
  intros [| u] [| v]; cbn; try (split; congruence).
  rewrite eqb_eq. split; congruence.
Qed.

(* Each call in turn takes effect at once and returns what it is said to have returned. *)
Fixpoint legal (m : memory) (h : history) : Prop :=
  match h with
  | [] => True
  | c :: rest => answer (operation c) m = outcome c /\ legal (apply (operation c) m) rest
  end.

(* No call stands before one that had returned when it was made. *)
Fixpoint in_real_time (h : history) : Prop :=
  match h with
  | [] => True
  | c :: rest => (forall d, In d rest -> ~ returned d < invoked c) /\ in_real_time rest
  end.

Definition linearizable (m : memory) (h : history) : Prop :=
  exists order, Permutation h order /\ in_real_time order /\ legal m order.

(* ---- The checker ----------------------------------------------------------------------------- *)

Fixpoint legal_b (m : memory) (h : history) : bool :=
  match h with
  | [] => true
  | c :: rest =>
      result_eqb (answer (operation c) m) (outcome c) && legal_b (apply (operation c) m) rest
  end.

Fixpoint in_real_time_b (h : history) : bool :=
  match h with
  | [] => true
  | c :: rest =>
      forallb (fun d => negb (Nat.ltb (returned d) (invoked c))) rest && in_real_time_b rest
  end.

Fixpoint inserted {A : Type} (x : A) (l : list A) : list (list A) :=
  match l with
  | [] => [[x]]
  | y :: rest => (x :: l) :: map (cons y) (inserted x rest)
  end.

Fixpoint orders {A : Type} (l : list A) : list (list A) :=
  match l with
  | [] => [[]]
  | x :: rest => flat_map (inserted x) (orders rest)
  end.

Definition linearizable_b (m : memory) (h : history) : bool :=
  existsb (fun order => in_real_time_b order && legal_b m order) (orders h).

Lemma legal_b_iff : forall h m, legal_b m h = true <-> legal m h.
Proof.
  induction h as [| c h IH]; intro m; cbn; [tauto |].
  rewrite andb_true_iff, result_eqb_eq, IH. tauto.
Qed.

Lemma in_real_time_b_iff : forall h, in_real_time_b h = true <-> in_real_time h.
Proof.
  induction h as [| c h IH]; cbn; [tauto |].
  rewrite andb_true_iff, IH, forallb_forall. split; intros [k l]; split; try exact l.
  - intros d i. specialize (k d i). apply negb_true_iff, Nat.ltb_ge in k. lia.
  - intros d i. specialize (k d i). apply negb_true_iff, Nat.ltb_ge. lia.
Qed.

Lemma inserted_iff : forall (A : Type) (x : A) l o,
  In o (inserted x l) <-> exists p q, l = p ++ q /\ o = p ++ x :: q.
Proof.
  intros A x. induction l as [| y l IH]; intro o; cbn.
  - split.
    + intros [<- | []]. exists [], []. auto.
    + intros (p & q & e & ->). symmetry in e. apply app_eq_nil in e. destruct e as [-> ->]. auto.
  - rewrite in_map_iff. split.
    + intros [<- | (o' & <- & k)].
      * exists [], (y :: l). auto.
      * apply IH in k. destruct k as (p & q & -> & ->). exists (y :: p), q. auto.
    + intros ([| z p] & q & e & ->); cbn in e.
      * subst q. auto.
      * injection e as <- ->. right. exists (p ++ x :: q). split; [reflexivity |].
        apply IH. exists p, q. auto.
Qed.

Lemma orders_iff : forall (A : Type) (l o : list A), In o (orders l) <-> Permutation l o.
Proof.
  intros A. induction l as [| x l IH]; intro o; cbn.
  - split; [intros [<- | []]; constructor |].
    intro h. left. symmetry. apply Permutation_nil, h.
  - rewrite in_flat_map. split.
    + intros (o' & k & i). apply IH in k. apply inserted_iff in i.
      destruct i as (p & q & -> & ->). apply Permutation_cons_app, k.
    + intro h. destruct (Permutation_vs_cons_inv (Permutation_sym h)) as (p & q & ->).
      exists (p ++ q). split.
      * apply IH. eapply Permutation_cons_app_inv. exact h.
      * apply inserted_iff. exists p, q. auto.
Qed.

(* The checker says yes exactly to the linearizable histories. *)
Theorem linearizable_b_iff : forall m h, linearizable_b m h = true <-> linearizable m h.
Proof.
  intros m h. unfold linearizable_b, linearizable. rewrite existsb_exists. split.
  - intros (o & i & k). apply orders_iff in i. apply andb_true_iff in k. destruct k as [k l].
    exists o. rewrite <- in_real_time_b_iff, <- legal_b_iff. auto.
  - intros (o & i & k & l). exists o. split; [apply orders_iff, i |].
    apply andb_true_iff. split; [apply in_real_time_b_iff, k | apply legal_b_iff, l].
Qed.

Lemma not_linearizable : forall m h, linearizable_b m h = false -> ~ linearizable m h.
Proof. intros m h e k. apply linearizable_b_iff in k. congruence. Qed.
