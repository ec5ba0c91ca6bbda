(* SPDX-License-Identifier: BSD-3-Clause

   A fence as a step: two connections over one memory, the one that failed and the one that carries
   the repost, and an order to the responder that takes effect at some moment and from then on lets
   nothing of the first one through. With it a WRITE may be posted again, and its buffer be reused
   afterwards; without it, or when it takes effect too late, there is a run in which it may not. *)

From Coq Require Import Arith Bool List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder Traces Impossibility.
From PortcullisFailover Require Import Recovery Solvability Verdicts.
Import ListNotations.

(* Both see the same memory; the second component of each step below says so. *)
Record joint := Joint {
  old : state;
  new : state;
  fenced : bool        (* the responder refuses what the old connection sends *)
}.

Inductive joint_event : Type :=
| OnOld (e : event)
| OnNew (e : event)
| FenceTookEffect.

(* The same connection after the other one wrote. *)
Definition over (m : memory) (s : state) : state :=
  State m (posted s) (server s) (requests s) (replies s) (closed s).

(* A packet of it is let in. *)
Definition reaches (e : event) : bool :=
  match e with
  | Executed _ _ | Repeated _ _ => true
  | _ => false
  end.

Inductive joint_step (G : environment) : joint -> joint_event -> joint -> Prop :=
| joint_old : forall s n f e s', step G s e s' -> (f = true -> reaches e = false) ->
    joint_step G (Joint s n f) (OnOld e) (Joint s' (over (mem s') n) f)
| joint_new : forall s n f e n', step G n e n' ->
    joint_step G (Joint s n f) (OnNew e) (Joint (over (mem n') s) n' f)
| joint_fence : forall m p q rq rp c n f,
    joint_step G (Joint (State m p q rq rp c) n f) FenceTookEffect
               (Joint (State m p q [] rp c) n true).

Inductive joint_run (G : environment) (j : joint) : list joint_event -> joint -> Prop :=
| joint_nil : joint_run G j [] j
| joint_snoc : forall t j' e j'', joint_run G j t j' -> joint_step G j' e j'' ->
    joint_run G j (t ++ [e]) j''.

Definition start (m : memory) : joint := Joint (fresh m) (fresh m) false.

Definition joint_effects (t : list joint_event) : list effect :=
  flat_map (fun e => match e with OnOld e | OnNew e => effect_of e | FenceTookEffect => [] end) t.

Lemma joint_effects_app : forall t t',
  joint_effects (t ++ t') = joint_effects t ++ joint_effects t'.
Proof. apply flat_map_app. Qed.

Lemma joint_cons : forall G j e j' t j'',
  joint_step G j e j' -> joint_run G j' t j'' -> joint_run G j (e :: t) j''.
Proof.
  intros G j e j' t j'' h k. induction k as [| t u e' v k IH st].
  - change [e] with ([] ++ [e]). eapply joint_snoc; [constructor | exact h].
  - change (e :: t ++ [e']) with ((e :: t) ++ [e']). eapply joint_snoc; eassumption.
Qed.

(* ---- What a step does to one connection ------------------------------------------------------ *)

(* Executions count up the ePSN, and nothing else does. *)
Lemma step_expected : forall G s e s', step G s e s' ->
  expected (server s') = expected (server s) + times (effect_of e).
Proof.
  intros G s e s' st. destruct st; cbn [server effect_of times filter length]; try lia.
  - subst i. rewrite respond_expected in *.
    match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end. cbn. lia.
  - match goal with h : respond q m _ _ = _, d : _ <> _ |- _ =>
      pose proof (respond_unexpected q m _ o d) as k; rewrite h in k; injection k as -> -> end.
    cbn. lia.
Qed.

Lemma step_posted : forall G s e s', step G s e s' -> exists more, posted s' = posted s ++ more.
Proof.
  intros G s e s' st.
  destruct st; cbn [posted]; (exists [o]; reflexivity) || (exists []; rewrite app_nil_r; reflexivity).
Qed.

Lemma step_others : forall G s e s', step G s e s' -> Forall G (others (effect_of e)).
Proof. intros G s e s' st. destruct st; cbn; repeat constructor; assumption. Qed.

(* Where everything that is posted is o, memory follows the effects. *)
Lemma step_memory : forall G s e s' o, step G s e s' ->
  (forall i o', nth_error (posted s) i = Some o' -> o' = o) ->
  mem s' = replay o (mem s) (effect_of e).
Proof.
  intros G s e s' o st only_o. destruct st; cbn [mem effect_of replay]; try reflexivity.
  - subst i. rewrite respond_expected in *.
    match goal with h : (_, _, _) = _ |- _ => injection h as <- <- <- end.
    cbn [posted] in only_o. erewrite <- only_o by eassumption. reflexivity.
  - match goal with h : respond q m _ _ = _, d : _ <> _ |- _ =>
      pose proof (respond_unexpected q m _ o0 d) as k; rewrite h in k; injection k as -> -> end.
    reflexivity.
Qed.

(* A reply was given to a PSN that was executed; a completion to a reply. *)
Definition answered_below (s : state) : Prop :=
  forall i r, In (i, r) (replies s) -> i < expected (server s).

Lemma step_answered : forall G s e s', step G s e s' -> answered_below s -> answered_below s'.
Proof.
  intros G s e s' st h. unfold answered_below in *.
  pose proof (step_expected _ _ _ _ st) as up.
  destruct st; cbn [replies server effect_of times filter length] in *; intros j x k;
    try (apply (h j x); exact k).
  - apply (h j x). apply in_or_app. apply in_app_or in k. cbn. tauto.
  - destruct k as [k | k]; [injection k as <- <-; lia |]. specialize (h j x k). lia.
  - destruct k as [k | k]; [| specialize (h j x k); lia]. injection k as <- <-.
    match goal with h : respond _ _ _ _ = _ |- _ => unfold respond in h;
      apply Nat.eqb_neq in H0; rewrite H0 in h end.
    destruct (Nat.ltb i (expected q)) eqn:lt; [| discriminate].
    apply Nat.ltb_lt in lt. lia.
Qed.

(* ---- What holds of every joint run ----------------------------------------------------------- *)

(* The old connection and the new one post nothing but o, once each at most. *)
Definition both_post (o : op) (j : joint) : Prop :=
  (posted (old j) = [] \/ posted (old j) = [o]) /\ (posted (new j) = [] \/ posted (new j) = [o]).

Lemma prefix_of_one : forall (p more : list op) o,
  p ++ more = [] \/ p ++ more = [o] -> p = [] \/ p = [o].
Proof.
  intros [| x p] more o h; [left; reflexivity | right].
  destruct h as [h | h]; [discriminate |]. cbn in h. injection h as -> h.
  apply app_eq_nil in h. destruct h as [-> _]. reflexivity.
Qed.

Lemma both_post_before : forall G j e j' o, joint_step G j e j' ->
  both_post o j' -> both_post o j.
Proof.
  intros G j e j' o st [h k]. destruct st; cbn [old new over posted] in *.
  - destruct (step_posted _ _ _ _ H) as [more e']. rewrite e' in h.
    split; [eapply prefix_of_one, h | exact k].
  - destruct (step_posted _ _ _ _ H) as [more e']. rewrite e' in k.
    split; [exact h | eapply prefix_of_one, k].
  - split; assumption.
Qed.

Lemma only_one : forall (p : list op) o, p = [] \/ p = [o] ->
  forall (i : nat) o', nth_error p i = Some o' -> o' = o.
Proof.
  intros p o [-> | ->] [| [| i]] o' h; try discriminate. cbn in h. congruence.
Qed.

(* The memory is one, and it is what the effects make of the first one. *)
Definition faithful (o : op) (m : memory) (t : list joint_event) (j : joint) : Prop :=
  mem (new j) = mem (old j) /\ mem (old j) = replay o m (joint_effects t) /\
  times (joint_effects t) = expected (server (old j)) + expected (server (new j)) /\
  answered_below (new j).

Lemma joint_faithful_from : forall G o m t0 j0 t j, faithful o m t0 j0 ->
  joint_run G j0 t j -> both_post o j ->
  faithful o m (t0 ++ t) j /\ Forall G (others (joint_effects t)).
Proof.
  intros G o m t0 j0 t j f0 h.
  induction h as [| t j e j' h IH st]; intro p.
  - rewrite app_nil_r. split; [exact f0 | constructor].
  - destruct (IH (both_post_before _ _ _ _ _ st p)) as ((f1 & f2 & f3 & f4) & g).
    pose proof (both_post_before _ _ _ _ _ st p) as [po pn]. rewrite app_assoc.
    unfold faithful. rewrite !joint_effects_app in *. cbn [joint_effects flat_map].
    rewrite ?app_nil_r, ?others_app.
    destruct st as [s n f e s' st r | s n f e n' st | ]; cbn [old new over mem server posted] in *.
    + pose proof (step_memory _ _ _ _ o st (only_one _ _ po)) as e1.
      pose proof (step_expected _ _ _ _ st) as e2.
      split; [split; [reflexivity |]; split; [| split] |].
      * rewrite e1, f2, !replay_app. reflexivity.
      * rewrite times_app. lia.
      * exact f4.
      * apply Forall_app. split; [exact g | eapply step_others, st].
    + pose proof (step_memory _ _ _ _ o st (only_one _ _ pn)) as e1.
      pose proof (step_expected _ _ _ _ st) as e2.
      split; [split; [reflexivity |]; split; [| split] |].
      * rewrite e1, f1, f2, !replay_app. reflexivity.
      * rewrite times_app. lia.
      * eapply step_answered; eassumption.
      * apply Forall_app. split; [exact g | eapply step_others, st].
    + cbn. rewrite !app_nil_r. split; [repeat split; assumption | exact g].
Qed.

Lemma start_faithful : forall o m, faithful o m [] (start m).
Proof. intros o m. repeat split. intros i r []. Qed.

(* A fence stays in effect, and a PSN that was executed stays so. *)
Lemma joint_run_grows : forall G j t j', joint_run G j t j' ->
  (fenced j = true -> fenced j' = true) /\
  expected (server (new j)) <= expected (server (new j')).
Proof.
  intros G j t j' h. induction h as [| t j1 e j2 h [f x] st]; [split; [auto | lia] |].
  destruct st; cbn [fenced new over server] in *; [split; [exact f | exact x] | | split; auto].
  split; [exact f |]. pose proof (step_expected _ _ _ _ H). lia.
Qed.

Lemma fence_took_effect : forall G j t j', joint_run G j t j' -> In FenceTookEffect t ->
  fenced j' = true.
Proof.
  intros G j t j' h. induction h as [| t j1 e j2 h IH st]; intro k; [contradiction |].
  apply in_app_or in k. destruct k as [k | [-> | []]].
  - destruct st; cbn [fenced] in *; auto.
  - inversion st; reflexivity.
Qed.

Lemma completion_was_executed : forall G m o t j i r, joint_run G (start m) t j ->
  both_post o j -> In (OnNew (Completed i r)) t -> i < expected (server (new j)).
Proof.
  intros G m o t j i r h. induction h as [| t j1 e j2 h IH st]; intros p k; [contradiction |].
  pose proof (both_post_before _ _ _ _ _ st p) as p1.
  apply in_app_or in k. destruct k as [k | [-> | []]].
  - specialize (IH p1 k).
    destruct (joint_run_grows G j1 [e] j2) as [_ up].
    { change [e] with ([] ++ [e]). eapply joint_snoc; [constructor | exact st]. }
    lia.
  - destruct (joint_faithful_from _ o m [] _ _ _ (start_faithful o m) h p1) as ((_ & _ & _ & a) & _).
    inversion st; subst. cbn [new over server] in *.
    match goal with h : step _ _ (Completed _ _) _ |- _ => inversion h; subst end.
    cbn [server]. eapply a. cbn. eassumption.
Qed.

(* Behind the fence and the repost nothing executes any more. *)
Lemma silent_afterwards : forall G o j t j', joint_run G j t j' ->
  fenced j = true -> 0 < expected (server (new j)) -> both_post o j' ->
  times (joint_effects t) = 0.
Proof.
  intros G o j t j' h f x. induction h as [| t j1 e j2 h IH st]; intro p; [reflexivity |].
  pose proof (both_post_before _ _ _ _ _ st p) as p1. specialize (IH p1).
  destruct (joint_run_grows _ _ _ _ h) as [f1 x1]. specialize (f1 f).
  rewrite joint_effects_app, times_app, IH. cbn [joint_effects flat_map]. rewrite app_nil_r.
  destruct st as [s n g e s' st r | s n g e n' st | ]; cbn [fenced new server] in *; [| | reflexivity].
  - specialize (r f1). destruct e; try reflexivity. discriminate.
  - destruct st; cbn [effect_of times filter length server] in *; try reflexivity. exfalso.
    destruct p1 as [_ p1]. cbn [new posted] in p1. subst i.
    destruct p1 as [-> | ->]; destruct (expected q) as [| [| k]]; cbn in *; discriminate || lia.
Qed.

(* A WRITE that is posted again is as good as posted once, and its owner may do with the buffer what
   he likes, once two things have happened: the fence took effect, and the repost completed. Until
   then others must leave the word alone. How many copies of the first attempt are on their way, and
   when the fence was ordered, does not matter. *)
Theorem fence_makes_write_repostable : forall G a v m t j t' j',
  stays G a v ->
  joint_run G (start m) t j -> In FenceTookEffect t -> In (OnNew (Completed 0 Acked)) t ->
  joint_run anybody j t' j' -> both_post (WRITE a v) j' ->
  once (WRITE a v) m (joint_effects (t ++ t')) /\
  mem (old j') = replay (WRITE a v) m (joint_effects (t ++ t')).
Proof.
  intros G a v m t j t' j' h r f c r' p. set (o := WRITE a v) in *.
  assert (p0 : both_post o j).
  { clear - r' p. induction r' as [| t' j1 e j2 r' IH st]; [exact p |].
    apply IH. eapply both_post_before; eassumption. }
  destruct (joint_faithful_from _ o m [] _ _ _ (start_faithful o m) r p0) as (fa & g).
  destruct (joint_faithful_from _ o m _ _ _ _ fa r' p) as (fb & _).
  pose proof (completion_was_executed _ _ o _ _ _ _ r p0 c) as x.
  pose proof (silent_afterwards _ o _ _ _ r' (fence_took_effect _ _ _ _ r f) ltac:(lia) p) as z.
  cbn [app] in fb. split; [| apply fb].
  rewrite joint_effects_app, (times_zero _ z). apply once_then.
  apply (harmless_however_late G); [apply T1b, write_solvable_iff_memory, h | exact g |].
  destruct fa as (_ & _ & n & _). cbn [app] in n. lia.
Qed.

(* The same without the fence: the first attempt timed out, the repost completed, its owner reused
   the buffer, and the packet of the first attempt arrives. *)
Theorem without_the_fence_it_does_not : forall a v w m, w <> v -> m a <> v ->
  exists t j t' j',
    joint_run nobody (start m) t j /\ In (OnOld (TimedOut 0)) t /\
    In (OnNew (Completed 0 Acked)) t /\ joint_run anybody j t' j' /\ both_post (WRITE a v) j' /\
    ~ In FenceTookEffect (t ++ t') /\ mem (old j') a = v /\
    ~ once (WRITE a v) m (joint_effects (t ++ t')).
Proof.
  intros a v w m d e. set (o := WRITE a v).
  exists [OnOld (Sent 0 o); OnOld (TimedOut 0); OnNew (Sent 0 o); OnNew (Executed 0 Acked);
          OnNew (Completed 0 Acked)].
  eexists. exists [OnNew (Elsewhere (doing (WRITE a w))); OnOld (Executed 0 Acked)]. eexists.
  split.
  { eapply joint_cons; [apply joint_old; [apply (step_sent _ m []) | reflexivity] |].
    eapply joint_cons;
      [apply joint_old; [apply (step_timed_out _ m [o] _ [0] [] [] 0); cbn; auto | reflexivity] |].
    eapply joint_cons; [apply joint_new; apply (step_sent _ m []) |].
    eapply joint_cons;
      [apply joint_new; apply (step_executed _ m [o] new_responder [] [] [] [] 0 o Acked);
       reflexivity |].
    eapply joint_cons;
      [apply joint_new; apply (step_completed _ _ [o] _ _ [(0, Acked)] [] 0 Acked); cbn; auto |].
    constructor. }
  split; [cbn; auto |]. split; [cbn; auto 10 |]. split.
  { eapply joint_cons; [apply joint_new; apply step_elsewhere; exact I |].
    eapply joint_cons; [apply joint_old |].
    - apply (step_executed _ _ [o] new_responder [] [] [] [0] 0 o Acked); reflexivity.
    - discriminate.
    - constructor. }
  split; [split; right; reflexivity |].
  split; [cbn; intuition discriminate |].
  split; [apply write_at |].
  cbn [joint_effects flat_map app effect_of]. apply early_fence_is_not_enough; assumption.
Qed.
