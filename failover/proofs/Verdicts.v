(* SPDX-License-Identifier: BSD-3-Clause

   T1b operation by operation: the condition on the environment under which READ, WRITE, FADD and
   CAS may be posted again, each an equivalence. Then T4b: a CAS whose expected word never comes
   back may be posted again however late its copies arrive; and what silence does for a WRITE. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder Traces Impossibility.
From PortcullisFailover Require Import Recovery Solvability.
Import ListNotations.

(* ---- Environments ---------------------------------------------------------------------------- *)

Definition nobody : environment := fun _ => False.
Definition anybody : environment := fun _ => True.

(* Another client's operation as a step of the environment. *)
Definition doing (o : op) : outside := Outside (apply o) (apply_respects o).

Definition only (os : list op) : environment := fun g => exists o, In o os /\ g = doing o.

Lemma acts_nobody : forall gs, Forall nobody gs -> gs = [].
Proof. intros [| g gs] h; [reflexivity |]. inversion h. contradiction. Qed.

Lemma acts_invariant : forall (G : environment) (P : memory -> Prop) gs m,
  (forall g, G g -> forall m, P m -> P (act g m)) -> Forall G gs -> P m -> P (acts gs m).
Proof.
  intros G P gs. induction gs as [| g gs IH]; intros m h f p; cbn; [exact p |].
  inversion f; subst. apply IH; auto.
Qed.

Lemma write_at : forall m a v, write m a v a = v.
Proof. intros m a v. apply (read_write_same m a v). Qed.

Lemma rewritten : forall m a v w, m a = w -> write (write m a v) a w == m.
Proof. intros m a v w h. rewrite write_write_same. apply write_present, h. Qed.

(* ---- READ: always ---------------------------------------------------------------------------- *)

Theorem read_solvable : forall G a, solvable_with_result G (READ a).
Proof. intros G a. apply T1b_result. intros m gs _. left. intro b. reflexivity. Qed.

(* ---- WRITE: while nobody takes the word away ------------------------------------------------- *)

Definition stays (G : environment) (a : addr) (v : word) : Prop :=
  forall g, G g -> forall m, m a = v -> act g m a = v.

Theorem write_solvable_iff : forall G a v, solvable_with_result G (WRITE a v) <-> stays G a v.
Proof.
  intros G a v. rewrite T1b_result. split.
  - intros h g i m e.
    destruct (h (write m a (other v)) [g]) as [n | [n _]]; [repeat constructor; exact i | |].
    + specialize (n a). cbn in n. rewrite !write_at in n. destruct (other_differs v). congruence.
    + specialize (n a). cbn in n. rewrite write_at in n.
      rewrite (act_respects g _ m (rewritten m a (other v) v e) a) in n. congruence.
  - intros h m gs f. right. split; [| reflexivity].
    apply write_present. apply (acts_invariant G (fun x : memory => x a = v) gs); auto.
    apply write_at.
Qed.

Corollary write_solvable_iff_memory : forall G a v, solvable G (WRITE a v) <-> stays G a v.
Proof.
  intros G a v. rewrite <- write_solvable_iff, T1b, T1b_result. split; intros h m gs f.
  - destruct (h m gs f) as [n | n]; [left; exact n | right; split; [exact n | reflexivity]].
  - destruct (h m gs f) as [n | [n _]]; auto.
Qed.

Corollary write_quiet : forall a v, solvable_with_result nobody (WRITE a v).
Proof. intros a v. apply write_solvable_iff. intros g []. Qed.

Corollary write_other_writer : forall (G : environment) a v w,
  w <> v -> G (doing (WRITE a w)) -> ~ solvable G (WRITE a v).
Proof.
  intros G a v w d i h. apply write_solvable_iff_memory in h.
  specialize (h _ i (fun _ => v) eq_refl). cbn in h. rewrite write_at in h. contradiction.
Qed.

Corollary write_anybody : forall a v, ~ solvable anybody (WRITE a v).
Proof. intros a v. apply (write_other_writer _ _ _ (other v) (other_differs v)). exact I. Qed.

(* ---- FADD: never, whatever the environment --------------------------------------------------- *)

Lemma fadd_zero_harmless : forall G a, harmless_with_result G (FADD a zero).
Proof. intros G a m gs _. left. apply fadd_no_effect_iff. reflexivity. Qed.

Theorem fadd_solvable_iff : forall G a d, solvable G (FADD a d) <-> d = zero.
Proof.
  intros G a d. rewrite T1b. split.
  - intro h. destruct (h blank [] (Forall_nil G)) as [n | n].
    + apply fadd_no_effect_iff in n. exact n.
    + apply fadd_memory_idempotent_iff in n. exact n.
  - intros -> m gs f. destruct (fadd_zero_harmless G a m gs f) as [n | [n _]]; auto.
Qed.

Theorem fadd_solvable_with_result_iff : forall G a d,
  solvable_with_result G (FADD a d) <-> d = zero.
Proof.
  intros G a d. rewrite T1b_result. split.
  - intro h. apply (fadd_solvable_iff G a d), T1b. intros m gs f.
    destruct (h m gs f) as [n | [n _]]; auto.
  - intros ->. apply fadd_zero_harmless.
Qed.

Corollary fadd_quiet : forall a d, d <> zero -> ~ solvable nobody (FADD a d).
Proof. intros a d n h. apply fadd_solvable_iff in h. contradiction. Qed.

(* T1 for what is not idempotent: whatever the layer decides, in any environment. *)
Corollary T1_fadd : forall G (D : overlay) m a d, d <> zero -> exists t s t' s' r,
  timed_out_run G m (FADD a d) t s /\ recovery G (FADD a d) (D (view t) 0) s t' s' r /\
  ~ once (FADD a d) m (effects t ++ effects t').
Proof.
  intros G D m a d n. apply (T1 G D m (FADD a d) []); [constructor | |].
  - intro k. apply fadd_no_effect_iff in k. contradiction.
  - intro k. apply fadd_memory_idempotent_iff in k. contradiction.
Qed.

(* T1 for a WRITE whose word somebody else writes. *)
Corollary T1_write : forall (G : environment) (D : overlay) m a v w, m a <> v -> w <> v ->
  G (doing (WRITE a w)) -> exists t s t' s' r,
  timed_out_run G m (WRITE a v) t s /\ recovery G (WRITE a v) (D (view t) 0) s t' s' r /\
  ~ once (WRITE a v) m (effects t ++ effects t').
Proof.
  intros G D m a v w n d i. apply (T1 G D m (WRITE a v) [doing (WRITE a w)]).
  - repeat constructor. exact i.
  - intro k. apply write_no_effect_iff in k. contradiction.
  - intro k. apply write_no_effect_iff in k. cbn in k. rewrite write_at in k. contradiction.
Qed.

(* T1 for a CAS whose word somebody puts back. *)
Corollary T1_cas : forall (G : environment) (D : overlay) m a e n, m a = e -> e <> n ->
  G (doing (CAS a n e)) -> exists t s t' s' r,
  timed_out_run G m (CAS a e n) t s /\ recovery G (CAS a e n) (D (view t) 0) s t' s' r /\
  ~ once (CAS a e n) m (effects t ++ effects t').
Proof.
  intros G D m a e n h d i. apply (T1 G D m (CAS a e n) [doing (CAS a n e)]).
  - repeat constructor. exact i.
  - intro k. apply cas_no_effect_iff in k. destruct k; contradiction.
  - intro k. unfold absorbed in k. rewrite (cas_success _ _ _ _ h) in k.
    apply cas_no_effect_iff in k. destruct k as [k | k]; [apply k | contradiction].
    cbn [acts doing act]. rewrite cas_success by apply write_at. apply write_at.
Qed.

(* ---- CAS: memory may be right, the answer cannot --------------------------------------------- *)

(* Nobody, in any number of steps, takes the word from n back to e: no ABA. *)
Definition no_return (G : environment) (a : addr) (e n : word) : Prop :=
  forall gs m, Forall G gs -> m a = n -> acts gs m a <> e.

Theorem cas_solvable_iff : forall G a e n,
  solvable G (CAS a e n) <-> e = n \/ no_return G a e n.
Proof.
  intros G a e n. rewrite T1b. split.
  - intro h. destruct (word_eq_dec e n) as [-> | d]; [left; reflexivity | right].
    intros gs m f at_n. destruct (h (write m a e) gs f) as [k | k].
    + apply cas_no_effect_iff in k. rewrite write_at in k. destruct k; contradiction.
    + unfold absorbed in k. rewrite (cas_success (write m a e)) in k by apply write_at.
      apply cas_no_effect_iff in k. destruct k as [k | k]; [| contradiction].
      rewrite (acts_respects gs _ m (rewritten m a e n at_n) a) in k. exact k.
  - intros h m gs f. destruct (word_eq_dec (m a) e) as [at_e | d].
    + destruct h as [h | h]; [left; apply cas_no_effect_iff; right; exact h | right].
      unfold absorbed. rewrite (cas_success _ _ _ _ at_e).
      apply cas_no_effect_iff. left. apply h; [exact f | apply write_at].
    + left. apply cas_no_effect_iff. left. exact d.
Qed.

Theorem cas_solvable_with_result_iff : forall G a e n,
  solvable_with_result G (CAS a e n) <-> e = n.
Proof.
  intros G a e n. rewrite T1b_result. split.
  - intro h. destruct (h (fun _ => e) [] (Forall_nil G)) as [k | [_ k]].
    + apply cas_no_effect_iff in k. destruct k; [contradiction | assumption].
    + rewrite cas_success in k by reflexivity. cbn in k. rewrite write_at in k. congruence.
  - intros -> m gs _. left. apply cas_no_effect_iff. right. reflexivity.
Qed.

Corollary cas_quiet : forall a e n, solvable nobody (CAS a e n).
Proof.
  intros a e n. apply cas_solvable_iff. destruct (word_eq_dec e n) as [d | d]; [left; exact d |].
  right. intros gs m f k. apply acts_nobody in f. subst gs. cbn. congruence.
Qed.

Corollary cas_quiet_result_wrong : forall a e n,
  e <> n -> ~ solvable_with_result nobody (CAS a e n).
Proof. intros a e n d h. apply cas_solvable_with_result_iff in h. contradiction. Qed.

(* One client that puts the expected word back, by its own successful CAS. *)
Corollary cas_aba : forall (G : environment) a e n,
  e <> n -> G (doing (CAS a n e)) -> ~ solvable G (CAS a e n).
Proof.
  intros G a e n d i h. apply cas_solvable_iff in h. destruct h as [h | h]; [contradiction |].
  apply (h [doing (CAS a n e)] (fun _ => n)); [repeat constructor; exact i | reflexivity |].
  cbn. rewrite eqb_refl. apply write_at.
Qed.

(* The disjunction of T1b stands inside its quantifiers, and has to: here is a CAS that is solvable
   although it is neither absorbed everywhere nor without effect everywhere. Its first execution may
   fail, and then the second one is the one that counts. *)
Corollary T1b_disjunction_is_pointwise : forall a : addr, exists G o,
  solvable G o /\ ~ (forall m gs, Forall G gs -> absorbed o gs m) /\ ~ (forall m, no_effect o m).
Proof.
  intro a. set (two := add one one). exists (only [CAS a two zero]), (CAS a zero one).
  assert (d1 : two <> zero) by (intro e; apply (f_equal bits) in e; vm_compute in e; discriminate).
  assert (d2 : two <> one) by (intro e; apply (f_equal bits) in e; vm_compute in e; discriminate).
  split; [| split].
  - apply cas_solvable_iff. right. intros gs m f k.
    enough (acts gs m a = one) as -> by (intro e; exact (zero_neq_one (eq_sym e))).
    apply (acts_invariant (only [CAS a two zero]) (fun x : memory => x a = one) gs); auto.
    intros g (o & [<- | []] & ->) x e. cbn. rewrite e.
    replace (eqb one two) with false by (symmetry; apply eqb_neq; congruence). exact e.
  - intro h. specialize (h (fun _ => two) [doing (CAS a two zero)]).
    assert (f : Forall (only [CAS a two zero]) [doing (CAS a two zero)]).
    { repeat constructor. eexists. split; [left; reflexivity | reflexivity]. }
    specialize (h f). unfold absorbed in h. apply cas_no_effect_iff in h.
    destruct h as [h | h]; [apply h | exact (zero_neq_one h)].
    rewrite (cas_failure (fun _ => two) a zero one d1). cbn [acts doing act].
    rewrite (cas_success (fun _ => two) a two zero eq_refl). apply write_at.
  - intro h. specialize (h (fun _ => zero)). apply cas_no_effect_iff in h.
    destruct h as [h | h]; [apply h; reflexivity | exact (zero_neq_one h)].
Qed.

(* ---- However many copies, however late ------------------------------------------------------- *)

(* Once an execution had its effect, all later ones are absorbed. *)
Lemma later_absorbed : forall G o m gs l, harmless G o -> ~ no_effect o m ->
  Forall G gs -> Forall G (others l) ->
  Forall2 same (seen o (acts gs (apply o m)) l)
               (seen o (acts gs (apply o m)) (map There (others l))).
Proof.
  intros G o m gs l h n f k. revert gs f.
  induction l as [| [| g] l IH]; intros gs f; cbn in *.
  - constructor; [reflexivity | constructor].
  - destruct (h m gs f) as [x | x]; [contradiction |].
    eapply same_lists_transitive; [exact (seen_respects o l _ _ x) |]. apply IH; assumption.
  - inversion k; subst. constructor; [reflexivity |].
    specialize (IH ltac:(assumption) (gs ++ [g])). rewrite acts_app in IH. apply IH.
    apply Forall_app. split; [exact f | repeat constructor; assumption].
Qed.

(* Reposts and late copies alike, in any number: if reposting is harmless at all, then no fence is
   needed for as long as the environment stays what it is. *)
Theorem harmless_however_late : forall G o m l,
  harmless G o -> Forall G (others l) -> 1 <= times l -> once o m l.
Proof.
  intros G o m l h. revert m. induction l as [| [| g] l IH]; intros m f n.
  - cbn in n. lia.
  - cbn in f. destruct (no_effect_dec o m) as [x | x].
    + destruct (times l) as [| k] eqn:t.
      * exists (Here :: l). split; [cbn; change (S (times l) = 1); rewrite t; reflexivity |].
        split; [reflexivity |]. apply seen_respects. reflexivity.
      * destruct (IH m f ltac:(lia)) as (l' & a & b & c). exists l'. split; [exact a |].
        split; [exact b |].
        eapply same_lists_transitive; [exact (seen_respects o l _ _ x) | exact c].
    + exists (Here :: map There (others l)).
      split.
      { cbn. change (S (times (map There (others l))) = 1). rewrite times_there. reflexivity. }
      split; [apply others_there |]. apply (later_absorbed G o m [] l h x (Forall_nil G) f).
  - inversion f; subst. destruct (IH (act g m) ltac:(assumption) n) as (l' & a & b & c).
    exists (There g :: l'). split; [exact a |]. split; [cbn; f_equal; exact b |].
    constructor; [reflexivity | exact c].
Qed.

(* T4b. Tags: a word that never recurs. Then the same CAS may be posted again, with no fence, and
   all its copies together are one CAS, whenever they arrive. Its answer is another matter: T4c. *)
Definition never_back (G : environment) (a : addr) (e : word) : Prop :=
  forall g, G g -> forall m, m a <> e -> act g m a <> e.

Theorem T4b : forall G a e n m l,
  never_back G a e -> Forall G (others l) -> 1 <= times l -> once (CAS a e n) m l.
Proof.
  intros G a e n m l h. apply harmless_however_late, T1b, cas_solvable_iff.
  destruct (word_eq_dec e n) as [d | d]; [left; exact d | right].
  intros gs x f k. apply (acts_invariant G (fun y : memory => y a <> e) gs); auto. congruence.
Qed.

(* The hypotheses of T4b hold of something: an environment that always installs words of its own. *)
Lemma never_back_witness : forall a e w, e <> w ->
  never_back (only [WRITE a w; FADD (S a) one]) a e /\
  Forall (only [WRITE a w; FADD (S a) one]) (others [Here; There (doing (WRITE a w)); Here]).
Proof.
  intros a e w d. split.
  - intros g (o & [<- | [<- | []]] & ->) m k; cbn.
    + rewrite write_at. congruence.
    + unfold write. replace (Nat.eqb a (S a)) with false; [exact k |].
      symmetry. apply Nat.eqb_neq. lia.
  - repeat constructor. exists (WRITE a w). split; [left; reflexivity | reflexivity].
Qed.

(* Without the tag the same three steps are two increments of a lock's life. *)
Lemma without_tags_not_once : forall a, ~ once (CAS a zero one) blank
  [Here; There (doing (CAS a one zero)); Here].
Proof.
  intros a h. apply (once_twice _ _ [doing (CAS a one zero)]) in h. destruct h as [h | h].
  - apply cas_no_effect_iff in h. destruct h as [h | h]; [apply h; reflexivity |].
    exact (zero_neq_one h).
  - apply cas_no_effect_iff in h. destruct h as [h | h]; [apply h | exact (zero_neq_one h)].
    rewrite (cas_success blank a zero one eq_refl). cbn [acts doing act].
    rewrite cas_success by apply write_at. apply write_at.
Qed.

(* ---- What a fence is for ---------------------------------------------------------------------- *)

Lemma once_then : forall o m l gs, once o m l -> once o m (l ++ map There gs).
Proof.
  intros o m l gs (l' & n & e & s). exists (l' ++ map There gs). split; [| split].
  - rewrite times_app, n, times_there. reflexivity.
  - rewrite !others_app, e. reflexivity.
  - apply seen_extended, s.
Qed.

(* While nobody takes the word away any number of copies may execute; and once none does any more,
   which is for Fences.v to prove of a fence, others may do what they like. *)
Theorem silence_makes_write_repostable : forall G a v m l gs,
  stays G a v -> Forall G (others l) -> 1 <= times l ->
  once (WRITE a v) m (l ++ map There gs).
Proof.
  intros G a v m l gs h f n. apply once_then. apply (harmless_however_late G); try assumption.
  apply T1b, write_solvable_iff_memory, h.
Qed.

(* Declared too early: the WRITE was posted again and completed, the buffer is reused, and the first
   copy arrives. *)
Theorem early_fence_is_not_enough : forall a v w m, w <> v -> m a <> v ->
  ~ once (WRITE a v) m [Here; There (doing (WRITE a w)); Here].
Proof.
  intros a v w m d e h. apply (once_twice _ _ [doing (WRITE a w)]) in h. destruct h as [h | h].
  - apply write_no_effect_iff in h. contradiction.
  - apply write_no_effect_iff in h. cbn in h. rewrite write_at in h. contradiction.
Qed.
