-- Statistics: how many messages a queue keeps, and how many of them each group has yet to consume,
-- without adding up lanes when somebody asks. Whoever changes something says so: calls of brokers
-- by their answers, which the broker sums; everybody else by a row of count_deltas in the same
-- transaction. A walk over the lanes proves the sums, and puts right what is off.

-- queen_store.add_counts: says what has changed.
-- Called by  flush_counts, queen.push, queen.pop, queen.ack, queen.transact, ensure_lanes, expire,
--            remove_idle_lanes, seek_queue, seek_lane, update_subscription, delete_group,
--            register_group, release_lease, count_dead_letters_gone, replay_dead_letter,
--            fail_timers
-- Locks      none: count_deltas: new rows
-- Returns    nothing
-- Cost       1 statement, one row per (queue, group) that changed; none where nothing did. An array
--            may be null: nothing of that kind changed. p_acked is what acknowledgements completed
--            of what the group passed, and part of no sum of messages
create or replace function queen_store.add_counts(
    p_queue_ids integer[], p_group_ids integer[], p_lanes bigint[], p_stored bigint[],
    p_passed bigint[], p_granted bigint[], p_ended bigint[], p_dead_letters bigint[],
    p_bytes bigint[], p_recount boolean, p_acked bigint[] default null)
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into queen_store.count_deltas (
        queue_id, group_id, lanes, stored, passed, granted, ended, dead_letters, bytes, acked,
        recount)
    select s.*, p_recount
    from (
        select i.queue_id, i.group_id, sum(coalesce(i.lanes, 0)) as lanes,
               sum(coalesce(i.stored, 0)) as stored, sum(coalesce(i.passed, 0)) as passed,
               sum(coalesce(i.granted, 0)) as granted, sum(coalesce(i.ended, 0)) as ended,
               sum(coalesce(i.dead_letters, 0)) as dead_letters,
               sum(coalesce(i.bytes, 0)) as bytes, sum(coalesce(i.acked, 0)) as acked
        from unnest(p_queue_ids, p_group_ids, p_lanes, p_stored, p_passed, p_granted, p_ended,
                    p_dead_letters, p_bytes, p_acked)
            i (queue_id, group_id, lanes, stored, passed, granted, ended, dead_letters, bytes,
               acked)
        where i.queue_id is not null
        group by i.queue_id, i.group_id) s
    where p_recount
       or s.lanes <> 0 or s.stored <> 0 or s.passed <> 0 or s.granted <> 0 or s.ended <> 0
       or s.dead_letters <> 0 or s.bytes <> 0 or s.acked <> 0;
end
$$;
comment on function queen_store.add_counts(
    integer[], integer[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], bigint[],
    boolean, bigint[]) is
    'Says what has changed of queues and groups. Locks: none: count_deltas: new rows.';

-- queen_store.flush_counts: what the commits of a broker have changed since it said so last.
-- Commits without a flush, for a walk finds what is lost, but of p_acked: called by brokers in
-- autocommit only.
-- Called by  CountProcedures
-- Locks      none: count_deltas: new rows
-- Returns    nothing
-- Cost       that of add_counts, and one index probe per group
create or replace function queen_store.flush_counts(
    p_queue_ids integer[], p_stored bigint[], p_bytes bigint[],
    p_group_ids integer[], p_passed bigint[], p_granted bigint[], p_ended bigint[],
    p_dead_letters bigint[], p_acked bigint[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_nothing bigint[] := array_fill(0::bigint, array[cardinality(p_queue_ids)]);
    v_nothing_of_groups bigint[] := array_fill(0::bigint, array[cardinality(p_group_ids)]);
begin
    perform queen_store.add_counts(
        p_queue_ids || array(
            select (select g.queue_id from queen_store.groups g where g.id = i.group_id)
            from unnest(p_group_ids) with ordinality i (group_id, ordinal)
            order by i.ordinal),
        array_fill(0, array[cardinality(p_queue_ids)]) || p_group_ids,
        null, p_stored || v_nothing_of_groups, v_nothing || p_passed, v_nothing || p_granted,
        v_nothing || p_ended, v_nothing || p_dead_letters, p_bytes || v_nothing_of_groups, false,
        v_nothing || p_acked);
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.flush_counts(
    integer[], bigint[], bigint[], integer[], bigint[], bigint[], bigint[], bigint[],
    bigint[]) is
    'What the commits of a broker have changed since it said so last. Locks: none: count_deltas: new rows.';

-- queen_store.has_counts: whether somebody has said what changed, or a queue waits for its walk.
-- Called by  StatisticsProcedures
-- Locks      none
-- Returns    true also where the queue is deleted by now
-- Cost       1 statement
create or replace function queen_store.has_counts()
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (select from queen_store.count_deltas)
        or exists (select from queen_store.counts c where c.recount_at is not null);
end
$$;
comment on function queen_store.has_counts() is
    'Whether there are changes to add to the counts, or a queue waits for its walk. Locks: none.';

-- queen_store.fold_counts: adds what was said to the counts, and takes it away; what was stored,
-- given up, made and removed goes to the buckets of this moment, too.
-- Commits without a flush, for what is lost is there again: called by brokers in autocommit only.
-- Called by  StatisticsProcedures
-- Locks      count_deltas, skip locked; counts and queue_epochs: rows that change, by key; waits;
--            queue_buckets, by key; totals: the row; waits
-- Returns    rows added; fewer than p_limit = that was all
-- Cost       1 statement: one row written per (queue, group) that changed, one deleted per change;
--            and add_buckets
create or replace function queen_store.fold_counts(p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_folded integer;
    v_acked bigint;
    v_queue_ids integer[];
    v_stored bigint[];
    v_lanes_made bigint[];
    v_lanes_removed bigint[];
    v_dead_letters bigint[];
begin
    with taken as materialized (
        delete from queen_store.count_deltas d
        where d.ctid = any (array(
            select d.ctid
            from queen_store.count_deltas d
            limit p_limit
            for update skip locked))
        returning d.*
    ),
    summed as materialized (
        select t.queue_id, t.group_id, sum(t.lanes) as lanes, sum(t.stored) as stored,
               sum(t.passed) as passed, sum(t.granted) as granted, sum(t.ended) as ended,
               sum(t.acked) as acked, sum(t.dead_letters) as dead_letters,
               sum(t.bytes) as bytes, bool_or(t.recount) as recount,
               sum(greatest(t.lanes, 0)) as lanes_made, sum(greatest(-t.lanes, 0)) as lanes_removed,
               sum(greatest(t.dead_letters, 0)) as given_up
        from taken t
        where exists (
            select
            from queen_store.queues q
            where q.id = t.queue_id and q.deleted_at is null)
        group by t.queue_id, t.group_id
    ),
    added as (
        insert into queen_store.counts as c (
            queue_id, group_id, lanes, stored, passed, granted, ended, acked, dead_letters,
            counted_at, recount_at)
        select s.queue_id, s.group_id, s.lanes, s.stored, s.passed, s.granted, s.ended, s.acked,
               s.dead_letters, clock_timestamp(),
               case when s.recount or s.group_id = 0 then clock_timestamp() end
        from summed s
        order by s.queue_id, s.group_id
        on conflict (queue_id, group_id) do update
        set lanes = c.lanes + excluded.lanes, stored = c.stored + excluded.stored,
            passed = c.passed + excluded.passed, granted = c.granted + excluded.granted,
            ended = c.ended + excluded.ended, acked = c.acked + excluded.acked,
            dead_letters = c.dead_letters + excluded.dead_letters,
            counted_at = excluded.counted_at,
            recount_at = case
                when excluded.group_id = 0 then c.recount_at
                else coalesce(excluded.recount_at, c.recount_at) end
    ),
    -- What a broker told of the epoch before is some seconds old: counted when that is sealed.
    stored as (
        insert into queen_store.queue_epochs as q (queue_id, epoch, messages, bytes)
        select s.queue_id, e.epoch, s.stored, s.bytes
        from summed s
        join queen_store.epochs e on e.state = 'open'
        where s.bytes <> 0
        order by s.queue_id
        on conflict (queue_id, epoch) do update
        set messages = q.messages + excluded.messages, bytes = q.bytes + excluded.bytes
    ),
    -- Of a group what is stored is what was put before it again.
    happened as (
        select s.queue_id, sum(s.stored) filter (where s.group_id = 0) as stored,
               sum(s.lanes_made) filter (where s.group_id = 0) as lanes_made,
               sum(s.lanes_removed) filter (where s.group_id = 0) as lanes_removed,
               sum(s.given_up) as given_up
        from summed s
        group by s.queue_id
    )
    select (select count(*) from taken), (select coalesce(sum(t.acked), 0) from taken t),
           array_agg(h.queue_id), array_agg(h.stored), array_agg(h.lanes_made),
           array_agg(h.lanes_removed), array_agg(h.given_up)
    into v_folded, v_acked, v_queue_ids, v_stored, v_lanes_made, v_lanes_removed, v_dead_letters
    from happened h
    where h.stored > 0 or h.lanes_made > 0 or h.lanes_removed > 0 or h.given_up > 0;
    if v_queue_ids is not null or v_acked <> 0 then
        perform queen_store.add_buckets(
            clock_timestamp(), v_queue_ids, null, v_stored, null, null, null, null, null, null,
            null, null, v_lanes_made, v_lanes_removed, v_dead_letters, null, null, v_acked);
    end if;
    perform set_config('synchronous_commit', 'off', true);
    return v_folded;
end
$$;
comment on function queen_store.fold_counts(integer) is
    'Adds what was said to the counts and to the buckets, and takes it away. Locks: count_deltas, skip locked; counts and queue_epochs: rows that change, by key; waits; queue_buckets, by key; totals: the row; waits.';

-- queen_store.running_counts: the sums as they are now, counts and what waits to be added to them.
-- Called by  count_lanes, settle_counts, told_amounts, lane_counts
-- Locks      none
-- Returns    one row per (queue, group) of these queues; those without a row in counts have
--            counted_at null
-- Cost       1 statement: the rows of these queues, and all of count_deltas
create or replace function queen_store.running_counts(p_queue_ids integer[])
returns table (
    queue_id integer, group_id integer, lanes bigint, stored bigint, passed bigint,
    granted bigint, ended bigint, acked bigint, dead_letters bigint, behind bigint,
    counted_at timestamptz, walked_at timestamptz, recount_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    select r.queue_id, r.group_id, sum(r.lanes)::bigint, sum(r.stored)::bigint,
           sum(r.passed)::bigint, sum(r.granted)::bigint, sum(r.ended)::bigint,
           sum(r.acked)::bigint, sum(r.dead_letters)::bigint, sum(r.behind)::bigint,
           max(r.counted_at), max(r.walked_at), max(r.recount_at)
    from (
        select c.queue_id, c.group_id, c.lanes, c.stored, c.passed, c.granted, c.ended, c.acked,
               c.dead_letters, c.behind, c.counted_at, c.walked_at, c.recount_at
        from queen_store.counts c
        where c.queue_id = any (p_queue_ids)
        union all
        select d.queue_id, d.group_id, d.lanes, d.stored, d.passed, d.granted, d.ended, d.acked,
               d.dead_letters, 0, null, null,
               case when d.recount then clock_timestamp() end
        from queen_store.count_deltas d
        where d.queue_id = any (p_queue_ids)) r
    group by r.queue_id, r.group_id;
end
$$;
comment on function queen_store.running_counts(integer[]) is
    'The sums per queue and group as they are now. Locks: none.';

-- queen_store.count_lanes: one page of a walk over lanes, by queue and name: what the sums should
-- be for them. Of one queue (p_queue_id) there are rows for all its groups, lanes or not. The lanes
-- that have waited longest are looked for with p_oldest only.
-- Called by  StatisticsProcedures, read_counts
-- Locks      none
-- Returns    one row per queue of the page (group 0: lanes, messages kept, unread those that the
--            slowest consumer has not consumed, as lane_places says who is one, else all),
--            and one per group of each: lanes with a cursor, messages not consumed (unread, too),
--            lanes that have such, messages leased (a lease that ran out over 10 minutes ago does
--            not count) and leased now, dead letters, up to 100 lanes with the oldest unread
--            message. before_* is what the sums are at this moment, started_at; the last lane of
--            the page to go on behind, null = that was all; of group 0 lanes written in the last
--            hour, day and week, when they were written last, and leases now: how many, and in how
--            many lanes
-- Cost       2 statements, and that of lane_places; with p_oldest that of unread_since, where there
--            is something unread; 1 index range of dead letters per lane
create or replace function queen_store.count_lanes(
    p_queue_id integer, p_after_queue_id integer, p_after_name text, p_limit integer,
    p_oldest boolean)
returns table (
    queue_id integer, group_id integer, lanes bigint, amount bigint, unread bigint, behind bigint,
    leased bigint, live bigint, dead_letters bigint, oldest_ids bigint[], oldest_ats timestamptz[],
    before_lanes bigint, before_stored bigint, before_passed bigint, before_granted bigint,
    before_ended bigint, before_dead_letters bigint, started_at timestamptz,
    last_queue_id integer, last_name text, live_hour bigint, live_day bigint, live_week bigint,
    oldest_write_at timestamptz, newest_write_at timestamptz, leases bigint, leased_lanes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_oldest_max constant integer := 100;
    v_now timestamptz := clock_timestamp();
    v_ids bigint[];
    v_queue_ids integer[];
    v_targets integer[];
    v_last_queue_id integer;
    v_last_name text;
begin
    select array_agg(p.id), array_agg(p.queue_id), array_agg(distinct p.queue_id),
           (array_agg(p.queue_id order by p.queue_id, p.name))[p_limit],
           (array_agg(p.name order by p.queue_id, p.name))[p_limit]
    into v_ids, v_queue_ids, v_targets, v_last_queue_id, v_last_name
    from (
        select p.id, p.queue_id, p.name
        from queen_store.partitions p
        where (p.queue_id, p.name) > (p_after_queue_id, p_after_name)
          and p.queue_id <= coalesce(p_queue_id, 2147483647)
        order by p.queue_id, p.name
        limit p_limit) p;
    if p_queue_id is not null then
        v_targets := array[p_queue_id];
    end if;

    return query
    with lane as materialized (
        select i.id, i.queue_id, p.last_offset, p.log_start, p.last_write_at
        from unnest(v_ids, v_queue_ids) i (id, queue_id)
        cross join lateral (
            select p.last_offset, p.log_start, p.last_write_at
            from queen_store.partitions p
            where p.id = i.id
            limit 1) p
    ),
    consumer as materialized (
        select t.queue_id, g.id, g.name
        from unnest(v_targets) t (queue_id)
        cross join lateral (
            select g.id, g.name
            from queen_store.groups g
            where g.queue_id = t.queue_id
            offset 0) g
    ),
    place as materialized (
        select p.*,
               case when p_oldest and p.unread > 0
                    then count(*) filter (where p.unread > 0) over (order by p.number) end
                   as ordinal
        from queen_store.lane_places(v_ids, null) with ordinality p (
            id, kept, group_id, is_unnamed, committed, unread, touched, leased, live, is_consumer,
            number)
        where p.group_id is not null
    ),
    waiting as materialized (
        select p.group_id, p.id, u.unread_at
        from (
            select array_agg(p.id order by p.ordinal) as ids,
                   array_agg(p.committed + 1 order by p.ordinal) as froms
            from place p
            where p.ordinal is not null) a
        cross join lateral queen_store.unread_since(a.ids, a.froms) u
        join place p on p.ordinal = u.ordinal
        where u.unread_at is not null
    ),
    given_up as materialized (
        select l.queue_id, coalesce(g.id, 0) as group_id, count(*) as dead_letters
        from lane l
        cross join lateral (
            select d.group_name
            from queen_store.dead_letters d
            where d.partition_id = l.id
            offset 0) d
        left join consumer g on g.queue_id = l.queue_id and g.name = d.group_name
        group by l.queue_id, coalesce(g.id, 0)
    ),
    slowest as (
        select p.id,
               coalesce(max(p.unread) filter (where p.is_consumer), max(p.unread)) as unread,
               count(*) filter (where p.live > 0) as leases
        from place p
        group by p.id
    ),
    measured as (
        select t.queue_id, 0 as group_id, count(l.id) as lanes,
               coalesce(sum(l.last_offset - l.log_start + 1), 0)::bigint as amount,
               coalesce(sum(coalesce(w.unread, l.last_offset - l.log_start + 1)), 0)::bigint
                   as unread,
               count(*) filter (where l.last_offset >= l.log_start) as behind,
               0::bigint as leased, 0::bigint as live, null::bigint[] as oldest_ids,
               null::timestamptz[] as oldest_ats,
               count(*) filter (where l.last_write_at >= v_now - interval '1 hour') as live_hour,
               count(*) filter (where l.last_write_at >= v_now - interval '1 day') as live_day,
               count(*) filter (where l.last_write_at >= v_now - interval '7 days') as live_week,
               min(l.last_write_at) as oldest_write_at, max(l.last_write_at) as newest_write_at,
               coalesce(sum(w.leases), 0)::bigint as leases,
               count(*) filter (where w.leases > 0) as leased_lanes
        from unnest(v_targets) t (queue_id)
        left join lane l on l.queue_id = t.queue_id
        left join slowest w on w.id = l.id
        group by t.queue_id
        union all
        select g.queue_id, g.id, p.lanes, p.unread, p.unread, p.behind, p.leased, p.live,
               w.ids, w.ats, null, null, null, null, null, null, null
        from consumer g
        left join lateral (
            select count(*) filter (where p.touched) as lanes,
                   coalesce(sum(p.unread), 0)::bigint as unread,
                   count(*) filter (where p.unread > 0) as behind,
                   coalesce(sum(p.leased), 0)::bigint as leased,
                   coalesce(sum(p.live), 0)::bigint as live
            from place p
            where p.group_id = g.id) p on true
        left join lateral (
            select array_agg(w.id order by w.unread_at, w.id) as ids,
                   array_agg(w.unread_at order by w.unread_at, w.id) as ats
            from (
                select w.id, w.unread_at
                from waiting w
                where w.group_id = g.id
                order by w.unread_at, w.id
                limit v_oldest_max) w) w on true
    )
    select m.queue_id, m.group_id, m.lanes, m.amount, m.unread, m.behind, m.leased, m.live,
           coalesce(d.dead_letters, 0), m.oldest_ids, m.oldest_ats,
           coalesce(r.lanes, 0),
           coalesce(r.stored, 0) + case when m.group_id > 0 then coalesce(o.stored, 0) else 0 end,
           coalesce(r.passed, 0),
           coalesce(r.granted, 0), coalesce(r.ended, 0), coalesce(r.dead_letters, 0),
           -- No later than what is seen here.
           statement_timestamp(), v_last_queue_id, v_last_name, m.live_hour, m.live_day,
           m.live_week, m.oldest_write_at, m.newest_write_at, m.leases, m.leased_lanes
    from measured m
    left join given_up d on d.queue_id = m.queue_id and d.group_id = m.group_id
    left join queen_store.running_counts(v_targets) r
        on r.queue_id = m.queue_id and r.group_id = m.group_id
    left join queen_store.running_counts(v_targets) o
        on o.queue_id = m.queue_id and o.group_id = 0
    order by m.queue_id, m.group_id;
end
$$;
comment on function queen_store.count_lanes(integer, integer, text, integer, boolean) is
    'One page of a walk over lanes: what the counts should be for them, and what they are. Locks: none.';

-- queen_store.unread_since: when the first retained message from an offset on was stored, of many
-- lanes at once: what first_created_at says of each.
-- Called by  count_lanes, list_lagging, group_lanes
-- Locks      none
-- Returns    one row per lane that exists; unread_at null = nothing is retained from there on
-- Cost       1 statement: 1 probe per lane, and 1 of its segments where the offset is not the first
--            that is retained, 2 behind a hole
create or replace function queen_store.unread_since(p_partition_ids bigint[], p_froms bigint[])
returns table (ordinal bigint, unread_at timestamptz)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with lane as materialized (
        select i.ordinal, i.id, i.first, p.oldest_live_at,
               i.first <= p.log_start and p.oldest_live_at is not null as is_oldest
        from unnest(p_partition_ids, p_froms) with ordinality i (id, first, ordinal)
        cross join lateral (
            select p.log_start, p.oldest_live_at
            from queen_store.partitions p
            where p.id = i.id
            limit 1) p
    )
    select l.ordinal, l.oldest_live_at
    from lane l
    where l.is_oldest
    union all
    select l.ordinal, case when h.is_there then h.created_at else n.created_at end
    from lane l
    left join lateral (
        select s.created_at, s.end_offset >= l.first and s.frames is not null as is_there
        from queen_store.segments s
        where s.partition_id = l.id and s.base_offset <= l.first
        order by s.base_offset desc
        limit 1) h on true
    left join lateral (
        select s.created_at
        from queen_store.segments s
        where h.is_there is not true and s.partition_id = l.id and s.base_offset > l.first
          and s.frames is not null
        order by s.base_offset
        limit 1) n on true
    where not l.is_oldest;
end
$$;
comment on function queen_store.unread_since(bigint[], bigint[]) is
    'When the first retained message from an offset on was stored, of many lanes at once. Locks: none.';

-- queen_store.has_counted: whether there are counts that a walk could prove.
-- Called by  StatisticsProcedures
-- Locks      none
-- Returns    true also where they are those of deleted queues
-- Cost       1 statement that reads a row
create or replace function queen_store.has_counted()
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (select from queen_store.counts);
end
$$;
comment on function queen_store.has_counted() is
    'Whether there are counts that a walk could prove. Locks: none.';

-- queen_store.uncounted_queue: the next live queue whose counts wait for a walk.
-- Called by  StatisticsProcedures
-- Locks      none
-- Returns    null = there is none with a number above p_after_queue_id
-- Cost       1 statement, one index range
create or replace function queen_store.uncounted_queue(p_after_queue_id integer)
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return (
        select c.queue_id
        from queen_store.counts c
        where c.queue_id > p_after_queue_id and c.recount_at is not null
          and exists (
              select
              from queen_store.queues q
              where q.id = c.queue_id and q.deleted_at is null)
        order by c.queue_id
        limit 1);
end
$$;
comment on function queen_store.uncounted_queue(integer) is
    'The next live queue whose counts wait for a walk. Locks: none.';

-- queen_store.settle_counts: compares what a walk has found with the sums. What is off by more than
-- moved since the walk began is put right by as much as it was off then; where nothing moved the
-- sums are exact from here on. To be called when every broker has told what it did before the walk
-- ended. A row that another walk has settled since this one began is left alone, and so is one
-- that was moved since.
-- Commits without a flush, for a walk comes again: called by brokers in autocommit only.
-- Called by  StatisticsProcedures
-- Locks      counts: rows that may change, by key; waits; oldest_lanes: rows that change
-- Returns    sums that were off, of those that no walk was wanted for
-- Cost       4 statements for any number of queues and groups; rows are written where something
--            was off, where a walk was wanted, or where the oldest lanes are others
create or replace function queen_store.settle_counts(
    -- One element per (queue, group): what the walk has found, and the sums when it began.
    p_started_ats timestamptz[], p_queue_ids integer[], p_group_ids integer[],
    p_lanes bigint[], p_amounts bigint[], p_behind bigint[], p_leased bigint[],
    p_dead_letters bigint[], p_before_lanes bigint[], p_before_stored bigint[],
    p_before_passed bigint[], p_before_granted bigint[], p_before_ended bigint[],
    p_before_dead_letters bigint[],
    -- The lanes with the oldest unread messages, each with the place of its group in the others.
    p_oldest_rows integer[], p_oldest_ids bigint[], p_oldest_ats timestamptz[])
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    -- Places of rows that this walk may settle.
    v_rows integer[];
    v_off integer;
begin
    perform 1
    from queen_store.counts c
    where c.queue_id = any (p_queue_ids)
    order by c.queue_id, c.group_id
    for no key update;
    v_now := clock_timestamp();

    select array_agg(i.row::integer) into v_rows
    from unnest(p_started_ats, p_queue_ids, p_group_ids)
        with ordinality i (started_at, queue_id, group_id, row)
    left join queen_store.running_counts(p_queue_ids) r
        on r.queue_id = i.queue_id and r.group_id = i.group_id
    where (r.recount_at is null or r.recount_at <= i.started_at)
      and (r.walked_at is null or r.walked_at < i.started_at)
      and exists (
          select
          from queen_store.queues q
          where q.id = i.queue_id and q.deleted_at is null)
      and (i.group_id = 0 or exists (
          select from queen_store.groups g where g.id = i.group_id));

    with drift as materialized (
        select i.queue_id, i.group_id, i.lanes, i.behind, r.counted_at is null as is_new,
               r.recount_at is not null or r.walked_at is null as is_wanted,
               case when i.lanes <> i.before_lanes
                     and coalesce(r.lanes, 0) = i.before_lanes
                    then i.lanes - i.before_lanes else 0 end as lanes_off,
               -- Messages kept, or not consumed, more than the sums said.
               case when a.off > coalesce(r.stored, 0) + case
                       when i.group_id > 0 then coalesce(o.stored, 0) else 0 end - i.before_stored
                      or -a.off > coalesce(r.passed, 0) - i.before_passed
                    then a.off else 0 end as amount_off,
               case when l.off > coalesce(r.granted, 0) - i.before_granted
                      or -l.off > coalesce(r.ended, 0) - i.before_ended
                    then l.off else 0 end as leased_off,
               case when i.dead_letters <> i.before_dead_letters
                     and coalesce(r.dead_letters, 0) = i.before_dead_letters
                    then i.dead_letters - i.before_dead_letters else 0 end as dead_letters_off,
               i.behind <> coalesce(r.behind, 0) as behind_moved
        from unnest(p_queue_ids, p_group_ids, p_lanes, p_amounts, p_behind, p_leased,
                    p_dead_letters, p_before_lanes, p_before_stored, p_before_passed,
                    p_before_granted, p_before_ended, p_before_dead_letters)
            with ordinality i (
                queue_id, group_id, lanes, amount, behind, leased, dead_letters, before_lanes,
                before_stored, before_passed, before_granted, before_ended, before_dead_letters,
                row)
        left join queen_store.running_counts(p_queue_ids) r
            on r.queue_id = i.queue_id and r.group_id = i.group_id
        left join queen_store.running_counts(p_queue_ids) o
            on o.queue_id = i.queue_id and o.group_id = 0
        cross join lateral (
            select i.amount - (i.before_stored - i.before_passed) as off offset 0) a
        cross join lateral (
            select i.leased - (i.before_granted - i.before_ended) as off offset 0) l
        where i.row = any (v_rows)
    ),
    settled as (
        insert into queen_store.counts as c (
            queue_id, group_id, lanes, passed, granted, ended, dead_letters, behind, counted_at,
            walked_at)
        select d.queue_id, d.group_id, d.lanes_off, -d.amount_off, greatest(d.leased_off, 0),
               greatest(-d.leased_off, 0), d.dead_letters_off, d.behind, v_now, v_now
        from drift d
        where d.is_new or d.is_wanted or d.behind_moved or d.lanes_off <> 0 or d.amount_off <> 0
           or d.leased_off <> 0 or d.dead_letters_off <> 0
        order by d.queue_id, d.group_id
        on conflict (queue_id, group_id) do update
        set lanes = c.lanes + excluded.lanes, passed = c.passed + excluded.passed,
            granted = c.granted + excluded.granted, ended = c.ended + excluded.ended,
            dead_letters = c.dead_letters + excluded.dead_letters, behind = excluded.behind,
            counted_at = excluded.counted_at, walked_at = excluded.walked_at, recount_at = null
    )
    select count(*) into v_off
    from drift d
    where not d.is_new and not d.is_wanted
      and (d.amount_off <> 0 or d.leased_off <> 0 or d.dead_letters_off <> 0
           or (d.lanes_off <> 0 and d.group_id = 0));

    delete from queen_store.oldest_lanes o
    where o.ctid = any (array(
        select o.ctid
        from unnest(v_rows) v (row)
        cross join lateral (
            select o.ctid, o.partition_id
            from queen_store.oldest_lanes o
            where o.group_id = p_group_ids[v.row]
            offset 0) o
        where p_group_ids[v.row] > 0
          and not exists (
              select
              from unnest(p_oldest_rows, p_oldest_ids) i (row, partition_id)
              where i.row = v.row and i.partition_id = o.partition_id)));
    insert into queen_store.oldest_lanes as o (group_id, partition_id, unread_at)
    select p_group_ids[i.row], i.partition_id, i.unread_at
    from unnest(p_oldest_rows, p_oldest_ids, p_oldest_ats) i (row, partition_id, unread_at)
    where i.row = any (v_rows)
    order by 1, 2
    on conflict (group_id, partition_id) do update
    set unread_at = excluded.unread_at
    where o.unread_at <> excluded.unread_at;
    perform set_config('synchronous_commit', 'off', true);
    return v_off;
end
$$;
comment on function queen_store.settle_counts(
    timestamptz[], integer[], integer[], bigint[], bigint[], bigint[], bigint[], bigint[],
    bigint[], bigint[], bigint[], bigint[], bigint[], bigint[], integer[], bigint[],
    timestamptz[]) is
    'Compares what a walk has found with the counts, and puts right what is off. Locks: counts: rows that may change, by key; waits; oldest_lanes: rows that change.';

-- queen_store.note_liveness: how many lanes of queues were written of late, and how many are held
-- by leases, as a walk has found.
-- Commits without a flush, for a walk comes again: called by brokers in autocommit only.
-- Called by  StatisticsProcedures
-- Locks      none: liveness: rows that change, by key
-- Returns    nothing
-- Cost       1 statement; rows are written where something has changed
create or replace function queen_store.note_liveness(
    p_queue_ids integer[], p_live_hours bigint[], p_live_days bigint[], p_live_weeks bigint[],
    p_leases bigint[], p_leased_lanes bigint[], p_oldest_ats timestamptz[],
    p_newest_ats timestamptz[])
returns void
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into queen_store.liveness as l (
        queue_id, live_hour, live_day, live_week, oldest_write_at, newest_write_at, leases,
        leased_lanes, walked_at)
    select i.queue_id, i.live_hour, i.live_day, i.live_week, i.oldest_at, i.newest_at, i.leases,
           i.leased_lanes, clock_timestamp()
    from unnest(p_queue_ids, p_live_hours, p_live_days, p_live_weeks, p_leases, p_leased_lanes,
                p_oldest_ats, p_newest_ats)
        i (queue_id, live_hour, live_day, live_week, leases, leased_lanes, oldest_at, newest_at)
    where exists (
        select
        from queen_store.queues q
        where q.id = i.queue_id and q.deleted_at is null)
    order by i.queue_id
    on conflict (queue_id) do update
    set live_hour = excluded.live_hour, live_day = excluded.live_day,
        live_week = excluded.live_week, oldest_write_at = excluded.oldest_write_at,
        newest_write_at = excluded.newest_write_at, leases = excluded.leases,
        leased_lanes = excluded.leased_lanes, walked_at = excluded.walked_at
    where (l.live_hour, l.live_day, l.live_week, l.oldest_write_at, l.newest_write_at, l.leases,
           l.leased_lanes)
          is distinct from (excluded.live_hour, excluded.live_day, excluded.live_week,
                            excluded.oldest_write_at, excluded.newest_write_at, excluded.leases,
                            excluded.leased_lanes);
    perform set_config('synchronous_commit', 'off', true);
end
$$;
comment on function queen_store.note_liveness(
    integer[], bigint[], bigint[], bigint[], bigint[], bigint[], timestamptz[], timestamptz[]) is
    'How many lanes of queues were written of late, and how many are held by leases, as a walk has found. Locks: none: liveness: rows that change, by key.';

-- queen_store.drop_counts: removes counts of queues and epochs that are gone.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StatisticsProcedures
-- Locks      none: counts, oldest_lanes, queue_epochs, liveness: rows that nobody changes any more
-- Returns    rows removed
-- Cost       4 statements, each over one of the tables, at most p_limit rows of it
create or replace function queen_store.drop_counts(p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_counts integer;
    v_lanes integer;
    v_epochs integer;
    v_liveness integer;
begin
    delete from queen_store.counts c
    where c.ctid = any (array(
        select c.ctid
        from queen_store.counts c
        left join queen_store.queues q on q.id = c.queue_id and q.deleted_at is null
        where q.id is null
        limit p_limit));
    get diagnostics v_counts = row_count;
    delete from queen_store.oldest_lanes o
    where o.ctid = any (array(
        select o.ctid
        from queen_store.oldest_lanes o
        left join queen_store.groups g on g.id = o.group_id
        left join queen_store.queues q on q.id = g.queue_id and q.deleted_at is null
        where q.id is null
        limit p_limit));
    get diagnostics v_lanes = row_count;
    delete from queen_store.queue_epochs b
    where b.ctid = any (array(
        select b.ctid
        from queen_store.queue_epochs b
        left join queen_store.queues q on q.id = b.queue_id and q.deleted_at is null
        left join queen_store.epochs e on e.epoch = b.epoch
        where q.id is null or e.epoch is null
        limit p_limit));
    get diagnostics v_epochs = row_count;
    delete from queen_store.liveness l
    where l.ctid = any (array(
        select l.ctid
        from queen_store.liveness l
        left join queen_store.queues q on q.id = l.queue_id and q.deleted_at is null
        where q.id is null
        limit p_limit));
    get diagnostics v_liveness = row_count;
    perform set_config('synchronous_commit', 'off', true);
    return v_counts + v_lanes + v_epochs + v_liveness;
end
$$;
comment on function queen_store.drop_counts(integer) is
    'Removes counts of queues and epochs that are gone. Locks: none: counts, oldest_lanes, queue_epochs, liveness: rows that nobody changes any more.';

-- queen_store.told_amounts: the sums as numbers of messages.
-- Called by  told_counts, list_labels, read_overview, read_depth, list_groups, show_status,
--            show_queue_ops, show_workers, show_partition_liveness, show_dead_letter_signatures,
--            storage_pins
-- Locks      none
-- Returns    one row per live queue of these that something is known of (group 0), and one per
--            group of it. What a group has not consumed is null where it is not registered, for
--            then it has a place only in lanes it has popped; of the queue it is that of the
--            slowest consumer, as lane_places says who is one, else all. stored is that
--            of the queue; acked is what acknowledgements have completed ever since, of a queue
--            those of all its groups, deleted ones included. age_seconds is -1 while a walk is
--            wanted
-- Cost       1 statement: the rows of these queues, and all of count_deltas
create or replace function queen_store.told_amounts(p_queue_ids integer[])
returns table (
    queue_id integer, group_id integer, lanes bigint, messages bigint, pending bigint,
    processing bigint, completed bigint, dead_letters bigint, behind bigint, stored bigint,
    acked bigint, age_seconds integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    with running as materialized (
        select r.*,
               case when r.recount_at is not null or r.walked_at is null then -1
                    else greatest(0, floor(extract(epoch from
                        clock_timestamp() - greatest(r.counted_at, j.last_ended_at))))::integer
                    end as age_seconds
        from queen_store.running_counts(p_queue_ids) r
        left join queen_store.jobs j on j.name = 'recount'
    ),
    queue as materialized (
        select r.queue_id, r.lanes, greatest(r.stored - r.passed, 0) as messages, r.stored,
               a.acked, r.dead_letters, r.behind, r.age_seconds
        from running r
        join queen_store.queues q on q.id = r.queue_id and q.deleted_at is null
        join (
            select r.queue_id, sum(r.acked)::bigint as acked
            from running r
            group by r.queue_id) a on a.queue_id = r.queue_id
        where r.group_id = 0
    ),
    consumer as materialized (
        select q.queue_id, g.id as group_id,
               g.name <> '__QUEUE_MODE__' or g.consumed_at is not null as is_consumer, q.messages,
               coalesce(r.lanes, 0) as lanes,
               case when coalesce(g.seek_rule, g.start_rule) is not null
                    then least(greatest(q.stored + coalesce(r.stored - r.passed, 0), 0),
                               q.messages) end
                   as pending,
               greatest(coalesce(r.granted - r.ended, 0), 0) as leased,
               coalesce(r.dead_letters, 0) as dead_letters, coalesce(r.behind, 0) as behind,
               q.stored, coalesce(r.acked, 0) as acked,
               coalesce(r.age_seconds, -1) as age_seconds
        from queue q
        join queen_store.groups g on g.queue_id = q.queue_id and g.is_known
        left join running r on r.queue_id = q.queue_id and r.group_id = g.id
    ),
    total as (
        select q.queue_id, q.lanes, q.messages, q.stored, q.acked, q.dead_letters, q.behind,
               q.age_seconds, coalesce(c.pending_most, c.pending, q.messages) as pending,
               coalesce(c.leased, 0) as leased, coalesce(c.dead_letters, 0) as given_up
        from queue q
        left join (
            select c.queue_id, max(c.pending) filter (where c.is_consumer) as pending_most,
                   max(c.pending) as pending, sum(c.leased)::bigint as leased,
                   sum(c.dead_letters)::bigint as dead_letters
            from consumer c
            group by c.queue_id) c on c.queue_id = q.queue_id
    )
    select t.queue_id, 0, t.lanes, t.messages, t.pending, least(t.leased, t.pending),
           greatest(t.messages - t.pending - t.dead_letters - t.given_up, 0),
           t.dead_letters + t.given_up, t.behind, t.stored, t.acked, t.age_seconds
    from total t
    union all
    select c.queue_id, c.group_id, c.lanes, c.messages, c.pending, least(c.leased, c.pending),
           case when c.pending is not null
                then greatest(c.messages - c.pending - c.dead_letters, 0) end,
           c.dead_letters, c.behind, c.stored, c.acked, c.age_seconds
    from consumer c;
end
$$;
comment on function queen_store.told_amounts(integer[]) is
    'The counts of queues and groups as numbers of messages. Locks: none.';

-- queen_store.told_counts: told_amounts with the bytes of queues.
-- Called by  read_counts, list_queues, queen.counts, show_workload
-- Locks      none
-- Returns    as told_amounts; bytes are null in rows of groups
-- Cost       3 statements: those of told_amounts and stored_bytes_of
create or replace function queen_store.told_counts(p_queue_ids integer[])
returns table (
    queue_id integer, group_id integer, lanes bigint, messages bigint, pending bigint,
    processing bigint, completed bigint, dead_letters bigint, behind bigint,
    retained_bytes bigint, disk_bytes bigint, age_seconds integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with told as materialized (
        select t.* from queen_store.told_amounts(p_queue_ids) t
    )
    select t.queue_id, t.group_id, t.lanes, t.messages, t.pending, t.processing, t.completed,
           t.dead_letters, t.behind, b.retained_bytes, b.disk_bytes, t.age_seconds
    from told t
    left join queen_store.stored_bytes_of(
        array(select o.queue_id from told o where o.group_id = 0 order by o.queue_id),
        array(select o.messages from told o where o.group_id = 0 order by o.queue_id)) b
        on b.queue_id = t.queue_id and t.group_id = 0;
end
$$;
comment on function queen_store.told_counts(integer[]) is
    'The counts of queues and groups with the bytes of queues. Locks: none.';

-- queen_store.lane_counts: how many lanes queues have: counted up to 10,000, told beyond.
-- Called by  seek_queue, delete_group, is_countable
-- Locks      none
-- Returns    one row per queue; 0 also where there is no such queue
-- Cost       1 statement: that of running_counts, and for each queue of which it tells few lanes so
--            many entries of an index
create or replace function queen_store.lane_counts(p_queue_ids integer[])
returns table (queue_id integer, lanes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_lanes_max constant integer := 10000;
begin
    return query
    select t.queue_id,
           case when t.lanes > v_lanes_max then t.lanes
                else (
                    select count(*)
                    from (
                        select
                        from queen_store.partitions p
                        where p.queue_id = t.queue_id
                        limit v_lanes_max + 1) l) end
    from (
        select k.queue_id, max(k.lanes) as lanes
        from (
            select i.queue_id, 0::bigint as lanes
            from unnest(p_queue_ids) i (queue_id)
            union all
            select r.queue_id, r.lanes
            from queen_store.running_counts(p_queue_ids) r
            where r.group_id = 0) k
        group by k.queue_id) t;
end
$$;
comment on function queen_store.lane_counts(integer[]) is
    'How many lanes queues have: counted up to 10,000, told beyond. Locks: none.';

-- queen_store.is_countable: whether a queue, or one group in it, can be added up at this moment: it
-- has at most 10,000 lanes, 100,000 places of groups in them, and 1,000 lanes that need a search
-- for the place where a group would begin.
-- Called by  read_counts, read_depth
-- Locks      none
-- Returns    p_group_id null = with all its groups
-- Cost       that of lane_counts, and 2 statements over at most 10,000 lanes where it has no more
create or replace function queen_store.is_countable(p_queue_id integer, p_group_id integer)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_lanes_max constant integer := 10000;
    v_places_max constant integer := 100000;
    v_searches_max constant integer := 1000;
    v_lanes constant bigint := (
        select c.lanes from queen_store.lane_counts(array[p_queue_id]) c);
    v_groups integer;
    v_searches integer;
begin
    if v_lanes > v_lanes_max then
        return false;
    end if;
    select count(*) into v_groups
    from (
        select
        from queen_store.groups g
        where g.queue_id = p_queue_id and (p_group_id is null or g.id = p_group_id)
        limit v_places_max + 1) g;
    if v_lanes * v_groups > v_places_max then
        return false;
    end if;
    select count(*) into v_searches
    from (
        select
        from (
            select g.id, g.generation,
                   case when g.seek_rule is null then g.start_at else g.seek_at end as at
            from queen_store.groups g
            where g.queue_id = p_queue_id and (p_group_id is null or g.id = p_group_id)
              and coalesce(g.seek_rule, g.start_rule) = 'instant'
            offset 0) g
        join lateral (
            select p.id
            from queen_store.partitions p
            where p.queue_id = p_queue_id and p.last_offset >= p.log_start
              and p.last_write_at >= g.at - interval '1 second'
            offset 0) p on true
        left join lateral (
            select c.generation
            from queen_store.cursors c
            where c.partition_id = p.id and c.group_id = g.id
            limit 1) c on true
        where c.generation is distinct from g.generation
        limit v_searches_max + 1) s;
    return v_searches <= v_searches_max;
end
$$;
comment on function queen_store.is_countable(integer, integer) is
    'Whether a queue, or one group in it, is small enough to be added up at this moment. Locks: none.';

-- queen_store.read_counts: how much a queue holds and how far its groups are. Counted at this
-- moment where that is_countable; else what is told.
-- Called by  LaneReads
-- Locks      none
-- Returns    as told_counts, with the names of the groups, null = the queue; age_seconds 0 =
--            counted now; no row = no such queue
-- Cost       2 statements, and those of is_countable: over at most 10,000 lanes that of
--            count_lanes, else that of told_counts
create or replace function queen_store.read_counts(p_tenant_id uuid, p_queue text)
returns table (
    queue_id integer, consumer_group text, lanes bigint, messages bigint, pending bigint,
    processing bigint, completed bigint, dead_letters bigint, behind bigint,
    retained_bytes bigint, disk_bytes bigint, age_seconds integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
begin
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    if not found then
        return;
    end if;
    if queen_store.is_countable(v_queue_id, null) then
        return query
        with live as materialized (
            select c.*
            from queen_store.count_lanes(v_queue_id, v_queue_id, '', 10001, false) c
        ),
        total as (
            select sum(l.live)::bigint as leased, sum(l.dead_letters)::bigint as dead_letters,
                   max(l.amount) filter (where l.group_id = 0) as messages
            from live l
        )
        select v_queue_id, g.name, l.lanes, t.messages, u.pending,
               least(case when l.group_id = 0 then t.leased else l.live end, u.pending),
               case when u.pending is not null
                    then greatest(t.messages - u.pending - d.dead_letters, 0) end,
               d.dead_letters, l.behind,
               b.retained_bytes, b.disk_bytes, 0
        from live l
        cross join total t
        left join lateral (
            select g.name, coalesce(g.seek_rule, g.start_rule) is not null as registered
            from queen_store.groups g
            where g.id = l.group_id and g.is_known
            limit 1) g on true
        cross join lateral (
            select case when l.group_id = 0 or g.registered then l.unread end as pending
            offset 0) u
        cross join lateral (
            select case when l.group_id = 0 then t.dead_letters else l.dead_letters end
                as dead_letters
            offset 0) d
        left join lateral queen_store.stored_bytes(v_queue_id, t.messages) b on l.group_id = 0
        where l.group_id = 0 or g.name is not null
        order by g.name nulls first;
        return;
    end if;
    return query
    select t.queue_id, g.name, t.lanes, t.messages, t.pending, t.processing, t.completed,
           t.dead_letters, t.behind, t.retained_bytes, t.disk_bytes, t.age_seconds
    from queen_store.told_counts(array[v_queue_id]) t
    left join lateral (
        select g.name
        from queen_store.groups g
        where g.id = t.group_id
        limit 1) g on true
    order by g.name nulls first;
end
$$;
comment on function queen_store.read_counts(uuid, text) is
    'How much a queue holds and how far its groups are: counted now, or told where it has many lanes. Locks: none.';
