(* SPDX-License-Identifier: BSD-3-Clause

   T1: a layer that only sees what the sender sees does harm in some run, whatever it decides, to
   each operation that can be harmed. T1b: exactly which operations a transparent layer can recover, in which environments. An
   operation is solvable when one layer is right in every run that times out and settles. That is so
   if and only if posting it again is harmless: the first execution changed nothing, or the second
   one is absorbed whatever others did in between. The verdicts of failover/classify rest on it. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder Traces Impossibility.
From PortcullisFailover Require Import Recovery.
Import ListNotations.

(* A run after which the layer has to choose: o was posted, timed out, can execute no more. *)
Definition timed_out_run (G : environment) (m : memory) (o : op) (t : trace) (s : state) : Prop :=
  run G (fresh m) t s /\ posted s = [o] /\ settled s /\ In (TimedOut 0) t.

(* Right in memory. *)
Definition solvable (G : environment) (o : op) : Prop :=
  exists D : overlay, forall m t s t' s' r,
    timed_out_run G m o t s -> recovery G o (D (view t) 0) s t' s' r ->
    once o m (effects t ++ effects t').

(* Right in memory and in the result that the application is told. *)
Definition solvable_with_result (G : environment) (o : op) : Prop :=
  exists D : overlay, forall m t s t' s' r,
    timed_out_run G m o t s -> recovery G o (D (view t) 0) s t' s' r ->
    once_with o m (effects t ++ effects t') r.

(* The second execution finds and leaves what the first one and the others left. *)
Definition absorbed (o : op) (gs : list outside) (m : memory) : Prop :=
  apply o (acts gs (apply o m)) == acts gs (apply o m).

Definition harmless (G : environment) (o : op) : Prop :=
  forall m gs, Forall G gs -> no_effect o m \/ absorbed o gs m.

Definition harmless_with_result (G : environment) (o : op) : Prop :=
  forall m gs, Forall G gs ->
    no_effect o m \/ (absorbed o gs m /\ answer o (acts gs (apply o m)) = answer o m).

(* ---- The layer that always reposts ----------------------------------------------------------- *)

Definition always_repost : overlay := fun _ _ => Repost.

(* What is executed once needs no excuse. *)
Lemma once_itself : forall o m gs gs',
  once_with o m (map There gs ++ Here :: map There gs') (answer o (acts gs m)).
Proof.
  intros o m gs gs'. exists (map There gs ++ Here :: map There gs'). split; [| split].
  - rewrite times_here, !times_there. reflexivity.
  - split; [reflexivity |]. apply seen_respects. reflexivity.
  - revert m. induction gs as [| g gs IH]; intro m; cbn; [reflexivity | apply IH].
Qed.

Lemma answered_first : forall o gs l m,
  answered o m (map There gs ++ Here :: l) = Some (answer o (acts gs m)).
Proof. intros o gs l. induction gs as [| g gs IH]; intro m; cbn; [reflexivity | apply IH]. Qed.

(* Executed twice: keep the first execution if the second is absorbed ... *)
Lemma once_if_absorbed : forall o m g1 g2 g4,
  absorbed o g2 (acts g1 m) ->
  once_with o m (map There g1 ++ Here :: map There g2 ++ Here :: map There g4)
            (answer o (acts g1 m)).
Proof.
  intros o m g1 g2 g4 h. exists (map There g1 ++ Here :: map There g2 ++ map There g4).
  split; [| split; [split |]].
  - rewrite times_here, times_app, !times_there. reflexivity.
  - rewrite !others_app. cbn. rewrite !others_app. reflexivity.
  - apply seen_same_prefix. rewrite replay_there. cbn.
    apply seen_same_prefix. rewrite replay_there. cbn. apply seen_respects. exact h.
  - apply answered_first.
Qed.

(* ... and the second one if the first had no effect. *)
Lemma once_if_no_effect : forall o m g1 g2 g4,
  no_effect o (acts g1 m) ->
  once_with o m (map There g1 ++ Here :: map There g2 ++ Here :: map There g4)
            (answer o (acts g2 (apply o (acts g1 m)))).
Proof.
  intros o m g1 g2 g4 h. exists (map There (g1 ++ g2) ++ Here :: map There g4).
  split; [| split; [split |]].
  - rewrite times_here, !times_there. reflexivity.
  - rewrite map_app, !others_app. cbn. rewrite !others_app, <- app_assoc. reflexivity.
  - rewrite map_app, <- app_assoc. apply seen_same_prefix. rewrite replay_there. cbn.
    apply seen_respects. exact h.
  - rewrite answered_first, acts_app. f_equal. apply answer_respects, acts_respects.
    symmetry. exact h.
Qed.

(* READ may stand anywhere. *)
Lemma read_seen_anywhere : forall a m l l', others l = others l' ->
  Forall2 same (seen (READ a) m l) (seen (READ a) m l').
Proof.
  intros a m l. revert m. induction l as [| [| g] l IH]; intros m l' h; cbn in *.
  - induction l' as [| [| g] l' IH]; cbn in *; [| apply IH, h | discriminate].
    constructor; [reflexivity | constructor].
  - apply IH, h.
  - induction l' as [| [| g'] l' IH']; cbn in *; [discriminate | apply IH', h |].
    injection h as -> h. constructor; [reflexivity |]. apply IH, h.
Qed.

Lemma read_once : forall a m l l',
  once_with (READ a) m (l ++ l') (answer (READ a) (replay (READ a) m l)).
Proof.
  intros a m l l'.
  assert (acts_others : forall x y, replay (READ a) y x = acts (others x) y).
  { induction x as [| [| g] x IH]; intro y; cbn; auto. }
  exists (map There (others l) ++ Here :: map There (others l')). split; [| split; [split |]].
  - rewrite times_here, !times_there. reflexivity.
  - rewrite !others_app. cbn. rewrite !others_there. reflexivity.
  - apply read_seen_anywhere. rewrite !others_app. cbn. rewrite !others_there. reflexivity.
  - rewrite answered_first, acts_others. reflexivity.
Qed.

(* The first run of a timed-out request: executed or not. *)
Lemma timed_out_effects : forall G m o t s, timed_out_run G m o t s ->
  mem s = replay o m (effects t) /\ Forall G (others (effects t)) /\
  ((exists gs, effects t = map There gs) \/
   (exists gs gs', effects t = map There gs ++ Here :: map There gs')).
Proof.
  intros G m o t s (h & p & _ & _).
  pose proof (run_sound _ _ _ _ _ h (or_intror p)) as so.
  split; [apply (sound_memory _ _ _ _ _ so) |]. split; [apply (sound_others _ _ _ _ _ so) |].
  pose proof (sound_times _ _ _ _ _ so) as n. pose proof (sound_expected _ _ _ _ _ so) as k.
  rewrite p in k. cbn in k.
  destruct (times (effects t)) as [| [| c]] eqn:e; [left | right | lia].
  - eexists. apply times_zero, e.
  - apply times_one, e.
Qed.

Lemma harmless_with_result_reposts : forall G o, harmless_with_result G o ->
  forall m t s t' s' r, timed_out_run G m o t s -> recovery G o Repost s t' s' r ->
  once_with o m (effects t ++ effects t') r.
Proof.
  intros G o h m t s t' s' r a b.
  destruct (timed_out_effects _ _ _ _ _ a) as (ms & fa & shape).
  inversion b as [s0 t0 s1 r0 ru v |]; subst.
  destruct (completed_repost _ _ _ _ _ _ ru v) as (_ & fb & l & l' & e & -> & k).
  rewrite ms. clear a b ru v ms.
  destruct o as [x v | x | x d | x y z].
  2: { rewrite e, app_assoc, <- replay_app. apply read_once. }
  all: destruct k as (gs & gs' & -> & ->); rewrite e in *; clear e;
    destruct shape as [[g1 e] | (g1 & g2 & e)]; rewrite e in *; clear e;
    rewrite ?replay_there, ?replay_app, ?replay_there; cbn [replay]; rewrite ?replay_there.
  all: try (rewrite <- acts_app, app_assoc, <- map_app; apply once_itself).
  all: rewrite <- app_assoc; cbn [app]; rewrite (app_assoc (map There g2)), <- map_app, <- acts_app;
    rewrite others_app in fa, fb; cbn in fa, fb; rewrite ?others_there in *.
  all: match goal with |- once_with ?o _ _ _ =>
    destruct (h (acts g1 m) (g2 ++ gs)) as [n | [n q]];
      [apply Forall_app; apply Forall_app in fa, fb; tauto
      | apply (once_if_no_effect o m g1 (g2 ++ gs) gs' n)
      | rewrite q; apply (once_if_absorbed o m g1 (g2 ++ gs) gs' n)]
    end.
Qed.

(* Dropping the result that the application is told. *)
Lemma harmless_reposts : forall G o, harmless G o ->
  forall m t s t' s' r, timed_out_run G m o t s -> recovery G o Repost s t' s' r ->
  once o m (effects t ++ effects t').
Proof.
  intros G o h m t s t' s' r a b.
  assert (weaken : forall l x, once_with o m l x -> once o m l).
  { intros l x (l' & p & q & _). exists l'. auto. }
  destruct (timed_out_effects _ _ _ _ _ a) as (ms & fa & shape).
  inversion b as [s0 t0 s1 r0 ru v |]; subst.
  destruct (completed_repost _ _ _ _ _ _ ru v) as (_ & fb & l & l' & e & _ & k).
  rewrite ms in *. clear a b ru v ms.
  destruct o as [x v | x | x d | x y z].
  2: { rewrite <- (app_nil_r (_ ++ _)). eapply weaken, read_once. }
  all: destruct k as (gs & gs' & -> & ->); rewrite e in *; clear e;
    destruct shape as [[g1 e] | (g1 & g2 & e)]; rewrite e in *; clear e.
  all: try (rewrite app_assoc, <- map_app; eapply weaken, once_itself).
  all: rewrite <- app_assoc; cbn [app]; rewrite (app_assoc (map There g2)), <- map_app;
    rewrite others_app in fa, fb; cbn in fa, fb; rewrite ?others_there in *.
  all: destruct (h (acts g1 m) (g2 ++ gs)) as [n | n];
    [apply Forall_app; apply Forall_app in fa, fb; tauto
    | eapply weaken, once_if_no_effect, n
    | eapply weaken, once_if_absorbed, n].
Qed.

(* ---- Every layer that is right somewhere ----------------------------------------------------- *)

(* Executed, others act, executed again, and once would do: then reposting was harmless. *)
Lemma once_twice : forall o m gs, once o m (Here :: map There gs ++ [Here]) ->
  no_effect o m \/ absorbed o gs m.
Proof.
  intros o m gs (l' & n & e & s). destruct (times_one _ n) as (h1 & h2 & ->).
  rewrite others_app in e. cbn in e. rewrite others_app, !others_there, app_nil_r in e.
  destruct h1 as [| g h1]; cbn in e; subst gs.
  - right. apply seen_final in s. cbn in s. rewrite replay_app, !replay_there in s. exact s.
  - left. cbn in s. inversion s. assumption.
Qed.

Lemma once_twice_with : forall o m gs r,
  once_with o m (Here :: map There gs ++ [Here]) r ->
  no_effect o m \/ (absorbed o gs m /\ r = answer o m).
Proof.
  intros o m gs r (l' & n & (e & s) & a). destruct (times_one _ n) as (h1 & h2 & ->).
  rewrite others_app in e. cbn in e. rewrite others_app, !others_there, app_nil_r in e.
  destruct h1 as [| g h1]; cbn in e; subst gs.
  - right. apply seen_final in s. cbn in s. rewrite replay_app, !replay_there in s.
    split; [exact s |]. cbn in a. congruence.
  - left. cbn in s. inversion s. assumption.
Qed.

Lemma once_never : forall o m, once o m [] -> no_effect o m.
Proof.
  intros o m (l' & n & e & s). destruct (times_one _ n) as (h1 & h2 & ->).
  rewrite others_app in e. cbn in e. rewrite !others_there in e.
  apply app_eq_nil in e. destruct e as [-> ->]. cbn in s. inversion s.
  unfold no_effect. symmetry. assumption.
Qed.

Lemma once_with_never : forall o m r, once_with o m [] r -> no_effect o m /\ answer o m = r.
Proof.
  intros o m r (l' & n & (e & s) & a). split.
  - apply once_never. exists l'. repeat split; assumption.
  - destruct (times_one _ n) as (h1 & h2 & ->).
    rewrite others_app in e. cbn in e. rewrite !others_there in e.
    apply app_eq_nil in e. destruct e as [-> ->]. cbn in a. congruence.
Qed.

Lemma lost_is_timed_out : forall G m o,
  timed_out_run G m o (lost_trace o) (State m [o] new_responder [] [] [0]).
Proof.
  intros G m o. split; [apply lost_trace_runs |]. repeat split. cbn. auto.
Qed.

Lemma executed_is_timed_out : forall G m o gs, Forall G gs ->
  timed_out_run G m o (executed_trace o (answer o m) gs)
    (State (acts gs (apply o m)) [o] (Responder 1 [answer o m]) [] [] [0]).
Proof.
  intros G m o gs h. split; [apply executed_trace_runs, h |]. repeat split.
  unfold executed_trace. right. right. apply in_or_app. right. cbn. auto.
Qed.

Lemma executed_trace_effects : forall o r gs,
  effects (executed_trace o r gs) = Here :: map There gs.
Proof.
  intros o r gs. unfold executed_trace. cbn. rewrite effects_app, effects_elsewhere.
  cbn. rewrite app_nil_r. reflexivity.
Qed.

(* What a layer chooses after "sent, timed out" it chooses in all the runs above. *)
Lemma forced_repost : forall G D m o gs, Forall G gs -> D (view (lost_trace o)) 0 = Repost ->
  let t := executed_trace o (answer o m) gs in
  let r := answer o (acts gs (apply o m)) in
  exists s t' s', timed_out_run G m o t s /\ recovery G o (D (view t) 0) s t' s' r /\
    effects t ++ effects t' = Here :: map There gs ++ [Here].
Proof.
  intros G D m o gs h c t r. do 3 eexists. split; [apply executed_is_timed_out, h |]. split.
  - subst t. rewrite views_equal, c. econstructor; [apply repost_trace_runs | reflexivity].
  - subst t. rewrite executed_trace_effects. reflexivity.
Qed.

(*@ 3.1 Theorem impossibility_safe_retransmission: proved corrected
    As printed it follows without any of its hypotheses (SeedTheorem1.impossibility_as_printed) and
    condemns a READ too (SeedTheorem1.printed_theorem_condemns_a_read); T1 is about reachable,
    settled executions and about operations whose first execution changes something that the second
    one changes again. Of a READ it says nothing (Solvability.T1_spares_read). *)
Theorem T1 : forall G (D : overlay) m o gs, Forall G gs -> ~ no_effect o m -> ~ absorbed o gs m ->
  exists t s t' s' r, timed_out_run G m o t s /\ recovery G o (D (view t) 0) s t' s' r /\
    ~ once o m (effects t ++ effects t').
Proof.
  intros G D m o gs f seen_once seen_twice. destruct (D (view (lost_trace o)) 0) as [| r] eqn:c.
  - destruct (forced_repost G D m o gs f c) as (s & t' & s' & a & b & e).
    do 5 eexists. split; [exact a |]. split; [exact b |]. rewrite e. intro k.
    apply once_twice in k. destruct k; contradiction.
  - do 5 eexists. split; [apply lost_is_timed_out |]. rewrite c. split; [constructor |].
    cbn. intro k. apply once_never in k. contradiction.
Qed.

(* Its hypothesis fails of a READ in every memory, and the layer that always reposts is right. *)
Corollary T1_spares_read : forall G a m,
  no_effect (READ a) m /\
  forall t s t' s' r, timed_out_run G m (READ a) t s ->
    recovery G (READ a) (always_repost (view t) 0) s t' s' r ->
    once_with (READ a) m (effects t ++ effects t') r.
Proof.
  intros G a m. split; [intro b; reflexivity |]. intros t s t' s' r h k.
  apply (harmless_with_result_reposts G (READ a)) with (s := s) (t' := t') (s' := s');
    [| exact h | exact k].
  intros x gs _. left. intro b. reflexivity.
Qed.

Theorem T1b : forall G o, solvable G o <-> harmless G o.
Proof.
  intros G o. split.
  - intros [D h] m gs fa. destruct (D (view (lost_trace o)) 0) as [| r] eqn:c.
    + destruct (forced_repost G D m o gs fa c) as (s & t' & s' & a & b & e).
      specialize (h _ _ _ _ _ _ a b). rewrite e in h. apply once_twice, h.
    + left. apply once_never.
      pose proof (h m _ _ [] (State m [o] new_responder [] [] [0]) r (lost_is_timed_out G m o))
        as k.
      rewrite c in k.
      apply k. constructor.
  - intro h. exists always_repost. intros m t s t' s' r. apply harmless_reposts, h.
Qed.

(* No operation both leaves every memory as it is and answers the same to all of them. *)
Lemma no_silent_operation : forall o r, ~ forall m, no_effect o m /\ answer o m = r.
Proof.
  intros o r h.
  assert (apart : forall o', o' = o -> answer o' (fun _ => zero) = Old zero ->
    answer o' (fun _ => one) = Old one -> False).
  { intros o' -> p q. rewrite (proj2 (h _)) in p. rewrite (proj2 (h _)) in q.
    rewrite p in q.
    apply (f_equal (fun x => match x with Old w => w | Acked => zero end)) in q.
    exact (zero_neq_one q). }
  destruct o as [a v | a | a d | a e n].
  - destruct (h (fun _ => other v)) as [k _]. specialize (k a). cbn in k. unfold write in k.
    rewrite Nat.eqb_refl in k. exact (other_differs v (eq_sym k)).
  - apply (apart (READ a)); reflexivity.
  - apply (apart (FADD a d)); reflexivity.
  - apply (apart (CAS a e n)); reflexivity.
Qed.

Theorem T1b_result : forall G o, solvable_with_result G o <-> harmless_with_result G o.
Proof.
  intros G o. split.
  - intros [D h]. destruct (D (view (lost_trace o)) 0) as [| r] eqn:c.
    + intros m gs fa. destruct (forced_repost G D m o gs fa c) as (s & t' & s' & a & b & e).
      specialize (h _ _ _ _ _ _ a b). rewrite e in h. apply once_twice_with, h.
    + exfalso. apply (no_silent_operation o r). intro m. apply once_with_never.
      pose proof (h m _ _ [] (State m [o] new_responder [] [] [0]) r (lost_is_timed_out G m o))
        as k.
      rewrite c in k.
      apply k. constructor.
  - intro h. exists always_repost. intros m t s t' s' r. apply harmless_with_result_reposts, h.
Qed.

(* If any layer is right, the one that always reposts is. *)
Corollary blind_repost_is_best : forall G o, solvable G o ->
  forall m t s t' s' r, timed_out_run G m o t s -> recovery G o Repost s t' s' r ->
  once o m (effects t ++ effects t').
Proof. intros G o h. apply harmless_reposts, T1b, h. Qed.

(* The two sufficient conditions that are easy to check. *)
Corollary absorbed_or_no_effect_is_solvable : forall G o,
  (forall m gs, Forall G gs -> absorbed o gs m) \/ (forall m, no_effect o m) -> solvable G o.
Proof. intros G o h. apply T1b. intros m gs fa. destruct h as [h | h]; auto. Qed.
