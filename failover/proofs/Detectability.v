(* SPDX-License-Identifier: BSD-3-Clause

   T4c: a tagged CAS is detectable when everybody who overwrites the tag first announces it in its
   owner's slot. Then "tag in the word, or tag in the slot" says whether the CAS took effect,
   however many copies arrived and however late; and two READs find it out: word, then slot. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import Words Memory Operations Traces Impossibility Recovery.
From PortcullisFailover Require Import Verdicts Verification.
Import ListNotations.

Section Helping.
  Variables (a slot : addr) (e tag : word).

  (* What every step of others keeps to. *)
  Record contract (G : environment) : Prop := Contract {
    tag_is_mine : forall g, G g -> forall m, act g m a = tag -> m a = tag;
    overwriter_helps_first : forall g, G g -> forall m,
      m a = tag -> act g m a = tag \/ m slot = tag;
    announcements_stay : forall g, G g -> forall m, m slot = tag -> act g m slot = tag;
    nobody_announces_falsely : forall g, G g -> forall m,
      act g m slot = tag -> m slot = tag \/ m a = tag
  }.

  Definition marked (m : memory) : Prop := m a = tag \/ m slot = tag.

  (* Some execution of the CAS found the expected word. *)
  Definition took_effect (m : memory) (l : list effect) : Prop :=
    exists l1 l2, l = l1 ++ Here :: l2 /\ replay (CAS a e tag) m l1 a = e.

  Lemma marked_step : forall G, contract G -> a <> slot -> forall g m, G g ->
    (marked (act g m) <-> marked m).
  Proof.
    intros G [mine helps stay honest] d g m i. unfold marked. split.
    - intros [h | h]; [left; eapply mine; eassumption |].
      destruct (honest g i m h); auto.
    - intros [h | h]; [| right; apply stay; assumption].
      destruct (helps g i m h) as [k | k]; [auto | right; apply stay; assumption].
  Qed.

  Lemma marked_cas : a <> slot -> e <> tag -> forall m,
    marked (apply (CAS a e tag) m) <-> marked m \/ m a = e.
  Proof.
    intros d et m. unfold marked. destruct (word_eq_dec (m a) e) as [h | h].
    - rewrite (cas_success _ _ _ _ h), write_at. tauto.
    - rewrite (cas_failure _ _ _ _ h). tauto.
  Qed.

  Theorem T4c : forall G m l, contract G -> a <> slot -> e <> tag -> ~ marked m ->
    Forall G (others l) ->
    (marked (replay (CAS a e tag) m l) <-> took_effect m l).
  Proof.
    intros G m l c d et fresh_tag f.
    enough (gen : forall m, Forall G (others l) ->
      (marked (replay (CAS a e tag) m l) <-> marked m \/ took_effect m l)).
    { rewrite (gen m f). tauto. }
    clear m fresh_tag f. induction l as [| [| g] l IH]; intros m f; cbn [replay].
    - split; [tauto |]. intros [h | (l1 & l2 & h & _)]; [exact h |].
      symmetry in h. apply app_eq_nil in h. destruct h; discriminate.
    - rewrite (IH _ f), (marked_cas d et). split.
      + intros [[h | h] | (l1 & l2 & -> & h)].
        * left. exact h.
        * right. exists [], l. split; [reflexivity | exact h].
        * right. exists (Here :: l1), l2. split; [reflexivity | exact h].
      + intros [h | ([| x l1] & l2 & h & k)]; [tauto | |].
        * cbn in k. tauto.
        * injection h as <- ->. right. exists l1, l2. split; [reflexivity | exact k].
    - inversion f; subst. rewrite (IH _ ltac:(assumption)), (marked_step G c d g m) by assumption.
      split.
      + intros [h | (l1 & l2 & -> & h)]; [left; exact h |].
        right. exists (There g :: l1), l2. split; [reflexivity | exact h].
      + intros [h | ([| x l1] & l2 & h & k)]; [tauto | discriminate |].
        injection h as <- ->. right. exists l1, l2. split; [reflexivity | exact k].
  Qed.

  (* The verifier: two READs, with others between them. *)
  Definition detect : tree bool :=
    Issue (READ a) (fun w =>
      if is_word tag w then Conclusion true
      else Issue (READ slot) (fun s => Conclusion (is_word tag s))).

  Lemma marked_acts : forall G, contract G -> a <> slot -> forall gs m, Forall G gs ->
    (marked (acts gs m) <-> marked m).
  Proof.
    intros G c d gs. induction gs as [| g gs IH]; intros m f; cbn; [tauto |].
    inversion f; subst. rewrite IH by assumption. apply (marked_step G c d). assumption.
  Qed.

  Theorem detect_decides : forall G (later : schedule) m, contract G -> a <> slot ->
    (forall i, Forall G (later i)) ->
    (conclusion later detect m = true <-> marked m).
  Proof.
    intros G later m c d f. unfold conclusion, detect. cbn.
    set (m1 := acts (later 0) m).
    assert (k : marked m1 <-> marked m) by (apply (marked_acts G); auto).
    destruct (eqb (m1 a) tag) eqn:at_a; cbn.
    - apply eqb_eq in at_a. rewrite <- k. unfold marked. tauto.
    - apply eqb_neq in at_a. set (m2 := acts (later 1) m1).
      assert (stay : m1 slot = tag -> m2 slot = tag).
      { apply (acts_invariant G (fun x : memory => x slot = tag)); [| apply f].
        intros g i x. apply (announcements_stay G c g i). }
      assert (k2 : marked m2 <-> marked m1) by (apply (marked_acts G); auto).
      rewrite eqb_eq, <- k. unfold marked in *. split; [intro h | intros [h | h]].
      + apply k2. right. exact h.
      + contradiction.
      + apply stay, h.
  Qed.

  (* Reposted, late and duplicated copies included, two READs know. *)
  Corollary T4c_reads_decide : forall G (later : schedule) m l,
    contract G -> a <> slot -> e <> tag -> ~ marked m ->
    Forall G (others l) -> (forall i, Forall G (later i)) ->
    (conclusion later detect (replay (CAS a e tag) m l) = true <-> took_effect m l).
  Proof.
    intros G later m l c d et fr f fl. rewrite (detect_decides G later _ c d fl).
    apply (T4c G); assumption.
  Qed.
End Helping.

(* ---- The contract is met by clients that help, and each clause is needed --------------- *)

(* An overwriter reads the tag, announces it, and only then replaces it by its own. The conditions
   stand for what it knows from its own earlier reads. *)
Definition announce (a slot : addr) (tag : word) : outside.
Proof.
  refine (Outside (fun m => if eqb (m a) tag then write m slot tag else m) _).
  intros m m' h. cbn. rewrite (h a). destruct (eqb (m' a) tag); [apply write_respects, h | exact h].
Defined.

Definition overwrite (a slot : addr) (tag x : word) : outside.
Proof.
  refine (Outside (fun m => if eqb (m slot) tag then apply (CAS a tag x) m else m) _).
  intros m m' h. cbn [apply]. rewrite (h slot).
  destruct (eqb (m' slot) tag); [apply (apply_respects (CAS a tag x)), h | exact h].
Defined.

Definition helpers (a slot : addr) (tag x : word) : environment :=
  fun g => g = announce a slot tag \/ g = overwrite a slot tag x.

Lemma write_elsewhere : forall m a b v, a <> b -> write m b v a = m a.
Proof. intros m a b v h. apply (read_write_other m a b v h). Qed.

Theorem helpers_keep_the_contract : forall a slot tag x, a <> slot -> x <> tag ->
  contract a slot tag (helpers a slot tag x).
Proof.
  intros a slot tag x d dx.
  assert (d' : slot <> a) by congruence.
  split; intros g [-> | ->] m; cbn [act announce overwrite apply].
  - destruct (eqb (m a) tag) eqn:k; [apply eqb_eq in k; auto | auto].
  - destruct (eqb (m slot) tag); [| auto]. destruct (eqb (m a) tag) eqn:k; [| auto].
    apply eqb_eq in k. auto.
  - intro h. rewrite h, eqb_refl. left. rewrite write_elsewhere; assumption.
  - intro h. destruct (eqb (m slot) tag) eqn:k; [| auto]. apply eqb_eq in k. auto.
  - intro h. destruct (eqb (m a) tag); [apply write_at | exact h].
  - intro h. rewrite h, eqb_refl. destruct (eqb (m a) tag); [rewrite write_elsewhere |]; assumption.
  - destruct (eqb (m a) tag) eqn:k; [apply eqb_eq in k |]; auto.
  - destruct (eqb (m slot) tag) eqn:k; [apply eqb_eq in k |]; auto.
Qed.

(* The story of a helped overwrite: executed, announced, overwritten, found. And its twin: nothing
   was executed, and nothing is found. *)
Lemma detect_after_help : forall a slot e tag x m, a <> slot -> m a = e ->
  conclusion (fun _ => []) (detect a slot tag)
    (replay (CAS a e tag) m [Here; There (announce a slot tag); There (overwrite a slot tag x)])
  = true.
Proof.
  intros a slot e tag x m d h. assert (d' : slot <> a) by congruence.
  cbn [replay]. rewrite (cas_success _ _ _ _ h). cbn [act announce overwrite].
  rewrite write_at, eqb_refl. rewrite write_at, eqb_refl.
  rewrite cas_success by (rewrite write_elsewhere by exact d; apply write_at).
  unfold conclusion, detect. cbn [play fst acts answer apply is_word]. rewrite write_at.
  destruct (eqb x tag); [reflexivity |]. cbn.
  rewrite write_elsewhere by exact d'. rewrite write_at, eqb_refl. reflexivity.
Qed.

(* Without help: the overwriter replaces the tag and announces nothing. *)
Theorem without_help_undetected : forall a slot e tag x m,
  m a = e -> m slot <> tag -> a <> slot -> x <> tag ->
  took_effect a e tag m [Here; There (doing (CAS a tag x))] /\
  conclusion (fun _ => []) (detect a slot tag)
    (replay (CAS a e tag) m [Here; There (doing (CAS a tag x))]) = false.
Proof.
  intros a slot e tag x m h ns d nx. assert (d' : slot <> a) by congruence. split.
  - exists [], [There (doing (CAS a tag x))]. split; [reflexivity | exact h].
  - cbn [replay]. rewrite (cas_success _ _ _ _ h). cbn [act doing].
    rewrite cas_success by apply write_at.
    unfold conclusion, detect. cbn [play fst acts answer apply is_word]. rewrite write_at.
    replace (eqb x tag) with false by (symmetry; apply eqb_neq, nx). cbn.
    rewrite !write_elsewhere by exact d'. apply eqb_neq, ns.
Qed.

(* Help that does not stay: after the announcement somebody else's late WRITE, an older
   announcement for instance, lands in the slot. *)
Theorem late_write_to_the_slot_undetected : forall a slot e tag x old m,
  m a = e -> a <> slot -> x <> tag -> old <> tag ->
  let story := [Here; There (announce a slot tag); There (overwrite a slot tag x);
                There (doing (WRITE slot old))] in
  took_effect a e tag m story /\
  conclusion (fun _ => []) (detect a slot tag) (replay (CAS a e tag) m story) = false.
Proof.
  intros a slot e tag x old m h d nx no story. assert (d' : slot <> a) by congruence. split.
  - exists [], (tl story). split; [reflexivity | exact h].
  - subst story. cbn [replay]. rewrite (cas_success _ _ _ _ h). cbn [act announce overwrite doing].
    rewrite write_at, eqb_refl. rewrite write_at, eqb_refl.
    rewrite cas_success by (rewrite write_elsewhere by exact d; apply write_at).
    unfold conclusion, detect. cbn [play fst acts answer apply is_word].
    rewrite (write_elsewhere _ a slot) by exact d. rewrite write_at.
    replace (eqb x tag) with false by (symmetry; apply eqb_neq, nx). cbn.
    rewrite write_at. apply eqb_neq, no.
Qed.

(* Somebody else installs the tag, or announces what never happened: found, though nothing was. *)
Theorem foreign_tag_misleads : forall a slot e tag b m, b = a \/ b = slot ->
  let story := [There (doing (WRITE b tag))] in
  ~ took_effect a e tag m story /\
  conclusion (fun _ => []) (detect a slot tag) (replay (CAS a e tag) m story) = true.
Proof.
  intros a slot e tag b m h story. split.
  - intros (l1 & l2 & k & _). subst story.
    destruct l1 as [| x [| y l1]]; discriminate.
  - subst story. cbn [replay act doing]. unfold conclusion, detect.
    cbn [play fst acts answer apply is_word].
    destruct (eqb (write m b tag a) tag) eqn:k; [reflexivity |]. cbn.
    destruct h as [-> | ->].
    + rewrite write_at, eqb_refl in k. discriminate.
    + rewrite write_at. apply eqb_refl.
Qed.

(* Slot first, word second is wrong: the helped overwrite fits between the two READs. *)
Definition detect_slot_first (a slot : addr) (tag : word) : tree bool :=
  Issue (READ slot) (fun s =>
    if is_word tag s then Conclusion true
    else Issue (READ a) (fun w => Conclusion (is_word tag w))).

Theorem slot_first_misses : forall a slot tag x m,
  m a = tag -> m slot <> tag -> a <> slot -> x <> tag ->
  marked a slot tag m /\
  conclusion (fun i => match i with
                       | 1 => [announce a slot tag; overwrite a slot tag x]
                       | _ => []
                       end) (detect_slot_first a slot tag) m = false.
Proof.
  intros a slot tag x m h ns d nx. split; [left; exact h |].
  unfold conclusion, detect_slot_first. cbn [play fst acts answer apply is_word].
  replace (eqb (m slot) tag) with false by (symmetry; apply eqb_neq, ns). cbn [play fst acts].
  cbn [act announce overwrite]. rewrite h, eqb_refl, write_at, eqb_refl.
  rewrite cas_success by (rewrite write_elsewhere by exact d; exact h).
  cbn. rewrite write_at. apply eqb_neq, nx.
Qed.
