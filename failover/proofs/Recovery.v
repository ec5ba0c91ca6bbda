(* SPDX-License-Identifier: BSD-3-Clause

   What an execution did to memory, reduced to the order of executions and steps of others, and the
   specification that a recovery has to meet: somebody who sees memory whenever he acts, and at the
   end, cannot tell it from an execution in which the operation happened once. *)

From Coq Require Import Arith List Lia.
From PortcullisFailover Require Import Words Memory Operations Responder Traces Impossibility.
Import ListNotations.

Inductive effect : Type :=
| Here                     (* the operation executes *)
| There (g : outside).     (* somebody else acts *)

Definition effect_of (e : event) : list effect :=
  match e with
  | Executed _ _ => [Here]
  | Elsewhere g => [There g]
  | _ => []
  end.

Definition effects (t : trace) : list effect := flat_map effect_of t.

Definition others (l : list effect) : list outside :=
  flat_map (fun e => match e with Here => [] | There g => [g] end) l.

Definition times (l : list effect) : nat :=
  length (filter (fun e => match e with Here => true | There _ => false end) l).

Fixpoint replay (o : op) (m : memory) (l : list effect) : memory :=
  match l with
  | [] => m
  | Here :: rest => replay o (apply o m) rest
  | There g :: rest => replay o (act g m) rest
  end.

(* Memory as each of the others finds it, and as it is left in the end. *)
Fixpoint seen (o : op) (m : memory) (l : list effect) : list memory :=
  match l with
  | [] => [m]
  | Here :: rest => seen o (apply o m) rest
  | There g :: rest => m :: seen o (act g m) rest
  end.

(* What the first execution answers. *)
Fixpoint answered (o : op) (m : memory) (l : list effect) : option result :=
  match l with
  | [] => None
  | Here :: _ => Some (answer o m)
  | There g :: rest => answered o (act g m) rest
  end.

Definition alike (o : op) (m : memory) (l l' : list effect) : Prop :=
  others l' = others l /\ Forall2 same (seen o m l) (seen o m l').

(* As if executed exactly once, in memory. *)
(*@ 3.1 Definition ProvidesSafety: proved corrected
    Printed over arbitrary lists of events; here over executions, as half of "exactly once". *)
(*@ 3.1 Definition ProvidesLiveness: proved corrected
    The other half of "exactly once". *)
Definition once (o : op) (m : memory) (l : list effect) : Prop :=
  exists l', times l' = 1 /\ alike o m l l'.

(* And in what the application is told. *)
Definition once_with (o : op) (m : memory) (l : list effect) (r : result) : Prop :=
  exists l', times l' = 1 /\ alike o m l l' /\ answered o m l' = Some r.

(* ---- Lists of effects ------------------------------------------------------------------------ *)

Lemma effects_app : forall t t', effects (t ++ t') = effects t ++ effects t'.
Proof. apply flat_map_app. Qed.

Lemma others_app : forall l l', others (l ++ l') = others l ++ others l'.
Proof. apply flat_map_app. Qed.

Lemma times_app : forall l l', times (l ++ l') = times l + times l'.
Proof. intros. unfold times. rewrite filter_app, app_length. reflexivity. Qed.

Lemma times_there : forall gs, times (map There gs) = 0.
Proof. induction gs; [reflexivity | assumption]. Qed.

Lemma others_there : forall gs, others (map There gs) = gs.
Proof. induction gs as [| g gs IH]; cbn; [reflexivity |]. f_equal. exact IH. Qed.

Lemma effects_elsewhere : forall gs, effects (map Elsewhere gs) = map There gs.
Proof. induction gs as [| g gs IH]; cbn; [reflexivity |]. f_equal. exact IH. Qed.

Lemma replay_app : forall o l l' m, replay o m (l ++ l') = replay o (replay o m l) l'.
Proof. intros o l l'. induction l as [| [| g] l IH]; intro m; cbn; auto. Qed.

Lemma replay_there : forall o gs m, replay o m (map There gs) = acts gs m.
Proof. intros o gs. induction gs; intro m; cbn; auto. Qed.

Lemma acts_app : forall gs gs' m, acts (gs ++ gs') m = acts gs' (acts gs m).
Proof. intros gs gs'. induction gs; intro m; cbn; auto. Qed.

Lemma acts_respects : forall gs m m', m == m' -> acts gs m == acts gs m'.
Proof.
  induction gs as [| g gs IH]; intros m m' h; cbn; [exact h |]. apply IH, act_respects, h.
Qed.

Lemma replay_respects : forall o l m m', m == m' -> replay o m l == replay o m' l.
Proof.
  intros o l. induction l as [| [| g] l IH]; intros m m' h; cbn; [exact h | |]; apply IH.
  - apply apply_respects, h.
  - apply act_respects, h.
Qed.

Lemma seen_respects : forall o l m m', m == m' -> Forall2 same (seen o m l) (seen o m' l).
Proof.
  intros o l. induction l as [| [| g] l IH]; intros m m' h; cbn.
  - constructor; [exact h | constructor].
  - apply IH, apply_respects, h.
  - constructor; [exact h |]. apply IH, act_respects, h.
Qed.

Lemma same_lists_transitive : forall p q r : list memory,
  Forall2 same p q -> Forall2 same q r -> Forall2 same p r.
Proof.
  induction p as [| x p IH]; intros q r u v; inversion u; subst; inversion v; subst; constructor.
  - etransitivity; eassumption.
  - eapply IH; eassumption.
Qed.

Lemma seen_same_prefix : forall o p l l' m,
  Forall2 same (seen o (replay o m p) l) (seen o (replay o m p) l') ->
  Forall2 same (seen o m (p ++ l)) (seen o m (p ++ l')).
Proof.
  intros o p l l'. induction p as [| [| g] p IH]; intros m h; cbn in *.
  - exact h.
  - apply IH, h.
  - constructor; [reflexivity |]. apply IH, h.
Qed.

(* What the others find on their way through l. *)
Fixpoint found (o : op) (m : memory) (l : list effect) : list memory :=
  match l with
  | [] => []
  | Here :: rest => found o (apply o m) rest
  | There g :: rest => m :: found o (act g m) rest
  end.

Lemma seen_app : forall o l l' m, seen o m (l ++ l') = found o m l ++ seen o (replay o m l) l'.
Proof. intros o l l'. induction l as [| [| g] l IH]; intro m; cbn; rewrite ?IH; reflexivity. Qed.

Lemma seen_found : forall o l m, seen o m l = found o m l ++ [replay o m l].
Proof. intros o l m. rewrite <- (app_nil_r l) at 1. apply seen_app. Qed.

Lemma same_lists_last : forall p q x y,
  Forall2 same (p ++ [x]) (q ++ [y]) -> Forall2 same p q /\ x == y.
Proof.
  induction p as [| z p IH]; intros [| z' q] x y h; cbn in h; inversion h; subst.
  - split; [constructor | assumption].
  - destruct q; match goal with k : Forall2 _ [] _ |- _ => inversion k end.
  - destruct p; match goal with k : Forall2 _ _ [] |- _ => inversion k end.
  - destruct (IH q x y ltac:(assumption)) as [u v]. split; [constructor |]; assumption.
Qed.

(* The end of what is seen is the final memory. *)
Lemma seen_final : forall o l l' m m', Forall2 same (seen o m l) (seen o m' l') ->
  replay o m l == replay o m' l'.
Proof. intros o l l' m m' h. rewrite !seen_found in h. apply same_lists_last in h. apply h. Qed.

(* Who cannot tell two histories apart cannot tell them apart by what happens next either. *)
Lemma seen_extended : forall o l l' m m' x, Forall2 same (seen o m l) (seen o m' l') ->
  Forall2 same (seen o m (l ++ x)) (seen o m' (l' ++ x)).
Proof.
  intros o l l' m m' x h. rewrite !seen_found in h. apply same_lists_last in h.
  destruct h as [h k]. rewrite !seen_app. apply Forall2_app; [exact h | apply seen_respects, k].
Qed.

(* A list in which the operation executes once is a place among the steps of others. *)
Lemma times_one : forall l, times l = 1 ->
  exists gs gs', l = map There gs ++ Here :: map There gs' .
Proof.
  induction l as [| [| g] l IH]; cbn; intro h.
  - discriminate.
  - exists [], (others l). cbn. f_equal. injection h as h. clear IH. unfold times in h.
    induction l as [| [| g] l IH]; cbn in *; [reflexivity | discriminate |]. f_equal. apply IH, h.
  - destruct (IH h) as (gs & gs' & ->). exists (g :: gs), gs'. reflexivity.
Qed.

Lemma times_zero : forall l, times l = 0 -> l = map There (others l).
Proof.
  induction l as [| [| g] l IH]; cbn; intro h; [reflexivity | discriminate |].
  f_equal. apply IH, h.
Qed.

(* ---- From executions to effects -------------------------------------------------------------- *)

(* What holds of every run in which nothing but o is posted. *)
Record sound (G : environment) (m : memory) (o : op) (t : trace) (s : state) : Prop := Sound {
  sound_memory : mem s = replay o m (effects t);
  sound_times : times (effects t) = expected (server s);
  sound_expected : expected (server s) <= length (posted s);
  sound_others : Forall G (others (effects t));
  sound_answers : forall i r, nth_error (answers (server s)) i = Some r -> exists l l',
    effects t = l ++ Here :: l' /\ r = answer o (replay o m l);
  (* A reply was given by the execution, or by reading again after it. *)
  sound_replies : forall i r, In (i, r) (replies s) -> exists l l',
    effects t = l ++ l' /\ r = answer o (replay o m l) /\
    match o with READ _ => True | _ => exists l'', l' = Here :: l'' end
}.

Lemma times_here : forall l l', times (l ++ Here :: l') = S (times l + times l').
Proof. intros. rewrite times_app. cbn. rewrite Nat.add_succ_r. reflexivity. Qed.

(* Events that neither execute nor act leave the effects as they are. *)
Lemma sound_same_effects : forall G m o t s e s',
  sound G m o t s -> effect_of e = [] ->
  mem s' = mem s -> server s' = server s -> length (posted s) <= length (posted s') ->
  (forall x, In x (replies s') -> In x (replies s)) ->
  sound G m o (t ++ [e]) s'.
Proof.
  intros G m o t s e s' [h1 h2 h3 h4 h5 h6] k k1 k2 k3 k4.
  assert (keep : effects (t ++ [e]) = effects t)
    by (rewrite effects_app; cbn; rewrite k; apply app_nil_r).
  split; rewrite ?keep, ?k1, ?k2; auto; [lia |].
  intros i r a. exact (h6 i r (k4 _ a)).
Qed.

Lemma sound_elsewhere : forall G m o t s g s',
  sound G m o t s -> G g -> mem s' = act g (mem s) -> server s' = server s ->
  posted s' = posted s -> replies s' = replies s ->
  sound G m o (t ++ [Elsewhere g]) s'.
Proof.
  intros G m o t s g s' [h1 h2 h3 h4 h5 h6] k k1 k2 k3 k4.
  split; rewrite ?effects_app, ?k1, ?k2, ?k3, ?k4; cbn [effects flat_map effect_of app].
  - rewrite replay_app, <- h1. reflexivity.
  - rewrite times_app, h2. apply Nat.add_0_r.
  - exact h3.
  - rewrite others_app. apply Forall_app. split; [exact h4 |]. repeat constructor. exact k.
  - intros i r a. destruct (h5 i r a) as (l & l' & e & f). exists l, (l' ++ [There g]).
    split; [rewrite e, <- app_assoc; reflexivity | exact f].
  - intros i r a. destruct (h6 i r a) as (l & l' & e & f & w). exists l, (l' ++ [There g]).
    split; [rewrite e, <- app_assoc; reflexivity |]. split; [exact f |].
    destruct o; [| exact I | |]; destruct w as [l'' ->]; exists (l'' ++ [There g]); reflexivity.
Qed.

Lemma sound_executed : forall G m o t s i r q' m' s',
  sound G m o t s -> posted s = [o] -> expected (server s) = 0 ->
  respond (server s) (mem s) 0 o = (q', m', Reply r) ->
  mem s' = m' -> server s' = q' -> posted s' = posted s -> replies s' = (i, r) :: replies s ->
  sound G m o (t ++ [Executed i r]) s'.
Proof.
  intros G m o t s i r q' m' s' [h1 h2 h3 h4 h5 h6] p z c k1 k2 k3 k4.
  pose proof (respond_expected (server s) (mem s) o) as d. rewrite z in d. rewrite d in c.
  injection c as <- <- <-.
  split; rewrite ?effects_app, ?k1, ?k2, ?k3, ?k4; cbn [effects flat_map effect_of app].
  - rewrite replay_app, <- h1. reflexivity.
  - rewrite times_app, h2, z. reflexivity.
  - rewrite p. cbn. lia.
  - rewrite others_app, app_nil_r. exact h4.
  - cbn [answers]. intros j r a.
    destruct (Nat.lt_ge_cases j (length (answers (server s)))) as [b | b].
    + rewrite nth_error_app1 in a by exact b. destruct (h5 j r a) as (l & l' & e & f).
      exists l, (l' ++ [Here]). split; [rewrite e, <- app_assoc; reflexivity | exact f].
    + rewrite nth_error_app2 in a by exact b.
      destruct (j - length (answers (server s))) as [| n]; cbn in a; [| destruct n; discriminate].
      injection a as <-. exists (effects t), []. split; [reflexivity |]. rewrite h1. reflexivity.
  - intros j r [a | a].
    + injection a as <- <-. exists (effects t), [Here]. split; [reflexivity |].
      split; [rewrite h1; reflexivity |].
      destruct o; [| exact I | |]; exists []; reflexivity.
    + destruct (h6 j r a) as (l & l' & e & f & w). exists l, (l' ++ [Here]).
      split; [rewrite e, <- app_assoc; reflexivity |]. split; [exact f |].
      destruct o; [| exact I | |]; destruct w as [l'' ->]; exists (l'' ++ [Here]); reflexivity.
Qed.

Lemma sound_repeated : forall G m o t s i r q' m' s',
  sound G m o t s -> length (posted s) <= 1 -> i <> expected (server s) ->
  respond (server s) (mem s) i o = (q', m', Reply r) ->
  mem s' = m' -> server s' = q' -> posted s' = posted s -> replies s' = (i, r) :: replies s ->
  sound G m o (t ++ [Repeated i r]) s'.
Proof.
  intros G m o t s i r q' m' s' [h1 h2 h3 h4 h5 h6] p z c k1 k2 k3 k4.
  pose proof (respond_unexpected (server s) (mem s) i o z) as d. rewrite c in d.
  injection d as -> ->.
  split; rewrite ?effects_app, ?k1, ?k2, ?k3, ?k4; cbn [effects flat_map effect_of];
    rewrite ?app_nil_r; auto.
  intros j x [a | a]; [| exact (h6 j x a)].
  injection a as <- <-. unfold respond in c. apply Nat.eqb_neq in z. rewrite z in c.
  destruct (Nat.ltb i (expected (server s))); [| discriminate].
  destruct (nth_error (answers (server s)) i) as [first |] eqn:known; [| discriminate].
  injection c as <-. destruct (h5 i first known) as (l & l' & e & f).
  destruct o;
    try (exists l, (Here :: l'); repeat split; [exact e | exact f | exists l'; reflexivity]).
  exists (effects t), []. rewrite app_nil_r. split; [reflexivity |].
  split; [rewrite h1; reflexivity | exact I].
Qed.

Lemma single_post : forall (p : list op) o o', p ++ [o'] = [o] -> p = [] /\ o' = o.
Proof. intros p o o' h. apply (app_inj_tail p [] o' o) in h. exact h. Qed.

Lemma run_sound : forall G m o t s, run G (fresh m) t s ->
  posted s = [] \/ posted s = [o] -> sound G m o t s.
Proof.
  intros G m o t s h. induction h as [| t s e s' h IH st]; intro p.
  - split; cbn; auto; try (intros; exfalso; eauto). destruct i; discriminate.
  - destruct st; cbn [posted] in *.
    + assert (p0 = [] /\ o0 = o) as [-> ->].
      { destruct p as [p | p]; [destruct p0; discriminate | apply single_post, p]. }
      eapply sound_same_effects; [apply IH; auto | auto ..]. cbn. lia.
    + eapply sound_same_effects; [apply IH; exact p | auto ..].
    + eapply sound_same_effects; [apply IH; exact p | auto ..].
    + eapply sound_same_effects; [apply IH; exact p | auto ..].
    + eapply sound_same_effects; [apply IH; exact p | auto ..].
    + eapply sound_same_effects; [apply IH; exact p | auto ..].
      cbn. intros x k. apply in_or_app. apply in_app_or in k. cbn. tauto.
    + assert (p0 = [o] /\ i = 0 /\ o0 = o) as (-> & -> & ->).
      { destruct p as [-> | ->]; destruct i as [| [| i]]; try discriminate.
        match goal with k : nth_error _ _ = _ |- _ => cbn in k; injection k as -> end. auto. }
      eapply sound_executed; [apply IH; exact p | auto ..]; cbn; eauto.
    + assert (p0 = [o] /\ o0 = o) as (-> & ->).
      { destruct p as [-> | ->]; destruct i as [| [| i]]; try discriminate.
        match goal with k : nth_error _ _ = _ |- _ => cbn in k; injection k as -> end. auto. }
      eapply sound_repeated; [apply IH; exact p | auto ..]; cbn; eauto.
    + eapply sound_same_effects; [apply IH; exact p | auto ..].
    + eapply sound_elsewhere; [apply IH; exact p | auto ..].
Qed.

(* ---- What the sender's view says of a run ---------------------------------------------------- *)

Definition posts (v : list obs) : list op :=
  flat_map (fun x => match x with ObsSent _ o => [o] | _ => [] end) v.

Lemma posts_posted : forall G m t s, run G (fresh m) t s -> posts (view t) = posted s.
Proof.
  intros G m t s h. induction h as [| t s e s' h IH st]; [reflexivity |].
  unfold posts. rewrite view_app, flat_map_app. fold (posts (view t)). rewrite IH.
  destruct st; cbn; try apply app_nil_r; reflexivity.
Qed.

(* Where a completion's result comes from. *)
Lemma completed_origin : forall G m o t s i r, run G (fresh m) t s ->
  posted s = [] \/ posted s = [o] -> In (Completed i r) t -> exists l l',
    effects t = l ++ l' /\ r = answer o (replay o m l) /\
    match o with READ _ => True | _ => exists l'', l' = Here :: l'' end.
Proof.
  intros G m o t s i r h. induction h as [| t s e s' h IH st]; intros p k; [contradiction |].
  assert (p0 : posted s = [] \/ posted s = [o]).
  { pose proof (posts_posted _ _ _ _ h) as a.
    pose proof (posts_posted _ _ _ _ (run_snoc _ _ _ _ _ _ h st)) as b.
    unfold posts in a, b. rewrite view_app, flat_map_app, a in b.
    destruct p as [p | p]; rewrite p in b.
    - left. apply app_eq_nil in b. tauto.
    - destruct (posted s) as [| x rest]; [left; reflexivity | right].
      cbn in b. injection b as -> b. apply app_eq_nil in b. destruct b as [-> _]. reflexivity. }
  apply in_app_or in k. destruct k as [k | [k | []]].
  - destruct (IH p0 k) as (l & l' & a & b & c). exists l, (l' ++ effects [e]).
    rewrite effects_app, a, app_assoc. split; [reflexivity |]. split; [exact b |].
    destruct o; [| exact I | |]; destruct c as [l'' ->]; exists (l'' ++ effects [e]); reflexivity.
  - subst e. pose proof (run_sound _ _ _ _ _ h p0) as so. inversion st; subst.
    rewrite effects_app. cbn [effects flat_map effect_of app]. rewrite app_nil_r.
    eapply (sound_replies _ _ _ _ _ so). cbn. eassumption.
Qed.

(* A repost that completed executed once; the others acted before and after. *)
Lemma completed_repost : forall G m o t s r, run G (fresh m) t s ->
  view t = [ObsSent 0 o; ObsCompleted 0 r] ->
  mem s = replay o m (effects t) /\ Forall G (others (effects t)) /\
  exists l l', effects t = l ++ l' /\ r = answer o (replay o m l) /\
    match o with
    | READ _ => True
    | _ => exists gs gs', l = map There gs /\ l' = Here :: map There gs'
    end.
Proof.
  intros G m o t s r h v.
  assert (p : posted s = [o]) by (rewrite <- (posts_posted _ _ _ _ h), v; reflexivity).
  pose proof (run_sound _ _ _ _ _ h (or_intror p)) as so.
  assert (k : In (Completed 0 r) t).
  { assert (k : In (ObsCompleted 0 r) (view t)) by (rewrite v; cbn; auto).
    apply in_flat_map in k. destruct k as (e & k & o').
    destruct e; cbn in o'; try contradiction; destruct o' as [o' | []]; try discriminate.
    injection o' as <- <-. exact k. }
  split; [apply (sound_memory _ _ _ _ _ so) |]. split; [apply (sound_others _ _ _ _ _ so) |].
  destruct (completed_origin _ _ _ _ _ _ _ h (or_intror p) k) as (l & l' & a & b & c).
  exists l, l'. split; [exact a |]. split; [exact b |].
  assert (n : times (effects t) <= 1).
  { rewrite (sound_times _ _ _ _ _ so). pose proof (sound_expected _ _ _ _ _ so) as n.
    rewrite p in n. exact n. }
  destruct o; [| exact I | |]; destruct c as [l'' ->]; rewrite a, times_here in n;
    exists (others l), (others l''); split;
    try (f_equal); apply times_zero; lia.
Qed.
