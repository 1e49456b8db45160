-- Evacuation: what is alive in the oldest epoch moves to epoch 0, so that its table can leave. Rows
-- are moved and nothing else: no offset, key, payload or time changes.

-- queen_store.segment_use: what a segment is still good for.
-- Called by  sample_lanes, evacuate, sweep_epoch
-- Locks      none
-- Returns    all; keys = its messages are gone, but their transactionIds are still refused or found
--            by acks; none = it is dead, for ever, since log_start only rises
-- Cost       inlined
create or replace function queen_store.segment_use(
    p_end_offset bigint, p_created_at timestamptz,
    -- Null = the lane is gone; the next two = its queue is.
    p_log_start bigint, p_dedup_window_seconds integer, p_completed_retention_seconds integer,
    p_queue_deleted_at timestamptz, p_now timestamptz)
returns text
language sql stable parallel safe
return case
    when p_log_start is null or p_dedup_window_seconds is null or p_queue_deleted_at is not null
    then 'none'
    when p_end_offset >= p_log_start then 'all'
    when p_created_at >= p_now - make_interval(
        secs => greatest(p_dedup_window_seconds, p_completed_retention_seconds, 900)) then 'keys'
    else 'none'
end;

comment on function queen_store.segment_use(
    bigint, timestamptz, bigint, integer, integer, timestamptz, timestamptz) is
    'What a segment is still good for: all, keys or none. Locks: none.';

-- queen_store.sample_lanes: what lanes have in an epoch, by a sample of its pages.
-- Called by  sample_epoch, storage_sample
-- Locks      none
-- Returns    one row per lane met: rows and bytes read, and how many of them live on; queue_id null
--            = the lane is gone
-- Cost       1 statement: some p_pages pages, however large the epoch is, and two index probes per
--            row; no payload is read
create or replace function queen_store.sample_lanes(
    p_epoch integer, p_pages integer, p_now timestamptz)
returns table (
    partition_id bigint, queue_id integer, rows bigint, live_rows bigint, bytes bigint,
    live_bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = on
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_percent double precision := least(100, p_pages * 100.0 * 8192 / greatest(
        pg_relation_size(to_regclass(format('queen_store.segments_%s', p_epoch))), 1));
begin
    return query
    select u.partition_id, u.queue_id, count(*), count(*) filter (where u.live_bytes > 0),
           sum(u.bytes)::bigint, sum(u.live_bytes)::bigint
    from (
        select s.partition_id, p.queue_id, s.key_bytes + s.frame_bytes as bytes,
               case queen_store.segment_use(
                       s.end_offset, s.created_at, p.log_start, q.dedup_window_seconds,
                       q.completed_retention_seconds, q.deleted_at, p_now)
                   when 'all' then s.key_bytes + s.frame_bytes
                   when 'keys' then s.key_bytes
                   else 0 end as live_bytes
        from (
            select s.partition_id, s.end_offset, s.created_at,
                   pg_column_size(s.keys) as key_bytes,
                   coalesce(pg_column_size(s.frames), 0) as frame_bytes
            from queen_store.segments s tablesample system (v_percent)
            where s.epoch = p_epoch
            offset 0) s
        left join queen_store.partitions p on p.id = s.partition_id
        left join queen_store.queues q on q.id = p.queue_id) u
    group by u.partition_id, u.queue_id;
end
$$;
comment on function queen_store.sample_lanes(integer, integer, timestamptz) is
    'What lanes have in an epoch, by a sample of its pages. Locks: none.';

-- queen_store.sample_epoch: how much of an epoch is alive, by a sample of its pages.
-- Called by  evacuation_due, sweep_due, epoch_live_bytes, ReclaimProcedures
-- Locks      none
-- Returns    one row: of the rows and bytes read, how many live on
-- Cost       that of sample_lanes with 64 pages
create or replace function queen_store.sample_epoch(p_epoch integer, p_now timestamptz)
returns table (rows bigint, live_rows bigint, bytes bigint, live_bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select coalesce(sum(l.rows), 0)::bigint, coalesce(sum(l.live_rows), 0)::bigint,
           coalesce(sum(l.bytes), 0)::bigint, coalesce(sum(l.live_bytes), 0)::bigint
    from queen_store.sample_lanes(p_epoch, 64, p_now) l;
end
$$;
comment on function queen_store.sample_epoch(integer, timestamptz) is
    'How much of an epoch is alive, by a sample of its pages. Locks: none.';

-- queen_store.evacuation_due: the oldest epoch, where it is worth emptying.
-- A row costs as much to move as it did to store, so few must be left of both rows and bytes; what
-- time alone will finish off is left to time. When all epochs are in use, and the open one has
-- grown to four times its share because none may follow, the oldest goes whatever it holds.
-- Called by  epoch_work
-- Locks      none
-- Returns    its number; null = there is none, or it is not worth it now
-- Cost       2 statements, and sample_epoch
create or replace function queen_store.evacuation_due(
    p_live_percent integer, p_rows_max bigint, p_epochs_max integer, p_now timestamptz)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_epoch integer;
    v_under_way boolean;
    v_forced boolean;
begin
    select e.epoch, e.walked_partition_id is not null into v_epoch, v_under_way
    from (
        select e.epoch, e.state, e.walked_partition_id
        from queen_store.epochs e
        where e.epoch > 0 and e.state <> 'empty'
        order by e.epoch
        limit 1) e
    where e.state = 'sealed';
    if v_epoch is null or v_under_way then
        return v_epoch;
    end if;
    select s.rows >= 4 * p_rows_max and n.epochs >= p_epochs_max and not n.is_built into v_forced
    from queen_store.epochs e
    cross join lateral queen_store.epoch_size(e.epoch) s
    -- One that is about to leave makes room.
    cross join (
        select count(*) as epochs, bool_or(n.state = 'built') as is_built
        from queen_store.epochs n
        where n.state <> 'empty') n
    where e.state = 'open';
    return (
        select v_epoch
        from queen_store.sample_epoch(v_epoch, p_now) s
        where v_forced
           or (s.live_rows * 100 <= s.rows * p_live_percent
               and s.live_bytes * 100 <= s.bytes * p_live_percent));
end
$$;
comment on function queen_store.evacuation_due(integer, bigint, integer, timestamptz) is
    'The oldest epoch, where it is worth emptying. Locks: none.';

-- queen_store.evacuate: one step of moving what is alive in the oldest epoch to epoch 0, in key
-- order. Where the payloads have expired only keys move. Behind the last step nothing alive is
-- left, and the epoch is marked empty.
-- A cursor whose next message moves forgets its epoch. One that is not visible yet has nothing to
-- forget: whoever writes a cursor gives it no epoch but 0 or the open one.
-- Called by  EpochProcedures
-- Locks      epochs: its row, in the last step 0 too; partitions, ascending id, skip locked;
--            cursors of these lanes that name this epoch or an older one, skip locked; with p_wait
--            those of the first lane, waits up to 250 ms each
-- Returns    one row: moved (call again), held (the lane is somebody's: all before it is done),
--            empty (nothing is left), other (not the oldest sealed epoch); rows and bytes moved
-- Cost       7 statements for up to p_read_max rows, of which at most p_move_max and p_move_bytes
--            move (one at least); TOAST is copied as it is compressed
create or replace function queen_store.evacuate(
    p_epoch integer, p_read_max integer, p_move_max integer, p_move_bytes bigint, p_wait boolean,
    p_now timestamptz)
returns table (verdict text, partition_id bigint, rows bigint, bytes bigint)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '250ms'
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_after_id bigint;
    v_after_offset bigint;
    -- Survivors of this step.
    v_ids bigint[];
    v_offsets bigint[];
    v_bytes bigint[];
    -- The last row that this step has looked at, and whether there are more.
    v_last_id bigint;
    v_last_offset bigint;
    v_more boolean;
    -- Their lanes, those of them that are ours, and the first that is not.
    v_lanes bigint[];
    v_locked bigint[];
    v_held bigint;
begin
    select coalesce(e.walked_partition_id, 0), coalesce(e.walked_offset, -1)
    into v_after_id, v_after_offset
    from queen_store.epochs e
    where e.epoch = p_epoch and e.state = 'sealed'
      and not exists (
          select
          from queen_store.epochs o
          where o.epoch between 1 and p_epoch - 1 and o.state <> 'empty')
    for no key update;
    if not found then
        return query select 'other', null::bigint, 0::bigint, 0::bigint;
        return;
    end if;

    with page as materialized (
        select s.partition_id, s.base_offset, s.end_offset, s.created_at,
               pg_column_size(s.keys)::bigint as key_bytes,
               coalesce(pg_column_size(s.frames), 0)::bigint as frame_bytes
        from queen_store.segments s
        where s.epoch = p_epoch
          and (s.partition_id, s.base_offset) > (v_after_id, v_after_offset)
        order by s.partition_id, s.base_offset
        limit p_read_max
    ),
    judged as (
        select s.partition_id, s.base_offset, u.use,
               case u.use when 'all' then s.key_bytes + s.frame_bytes
                          when 'keys' then s.key_bytes
                          else 0 end as bytes
        from page s
        left join lateral (
            select p.log_start, p.queue_id
            from queen_store.partitions p
            where p.id = s.partition_id
            limit 1) p on true
        left join lateral (
            select q.dedup_window_seconds, q.completed_retention_seconds, q.deleted_at
            from queen_store.queues q
            where q.id = p.queue_id
            limit 1) q on true
        cross join lateral (
            select queen_store.segment_use(
                s.end_offset, s.created_at, p.log_start, q.dedup_window_seconds,
                q.completed_retention_seconds, q.deleted_at, p_now) as use
            offset 0) u
    ),
    counted as (
        select j.*, count(*) filter (where j.use <> 'none') over walk as survivors,
               sum(j.bytes) over walk as bytes_so_far
        from judged j
        window walk as (order by j.partition_id, j.base_offset)
    )
    select array_agg(c.partition_id order by c.partition_id, c.base_offset)
               filter (where c.use <> 'none'),
           array_agg(c.base_offset order by c.partition_id, c.base_offset)
               filter (where c.use <> 'none'),
           array_agg(c.bytes order by c.partition_id, c.base_offset)
               filter (where c.use <> 'none'),
           (array_agg(c.partition_id order by c.partition_id desc, c.base_offset desc))[1],
           (array_agg(c.base_offset order by c.partition_id desc, c.base_offset desc))[1],
           count(*) = p_read_max or count(*) < (select count(*) from page)
    into v_ids, v_offsets, v_bytes, v_last_id, v_last_offset, v_more
    from counted c
    where c.survivors <= 1
       or (c.survivors <= p_move_max and c.bytes_so_far <= p_move_bytes);

    if v_ids is not null then
        select array_agg(distinct i.id order by i.id) into v_lanes from unnest(v_ids) i (id);
        -- A lane that is held ends the step: the walk may not pass what it leaves behind.
        if p_wait then
            select array_agg(l.id) into v_locked
            from (
                select p.id
                from queen_store.partitions p
                where p.id = v_lanes[1]
                for no key update) l;
            perform 1
            from queen_store.cursors c
            where c.partition_id = v_lanes[1] and c.epoch between 1 and p_epoch
            order by c.partition_id, c.group_id
            for no key update;
            v_held := v_lanes[2];
        else
            select array_agg(l.id) into v_locked
            from (
                select p.id
                from queen_store.partitions p
                where p.id = any (v_lanes)
                order by p.id
                for no key update skip locked) l;
            with ours as materialized (
                select c.partition_id, c.group_id
                from queen_store.cursors c
                where c.partition_id = any (v_locked) and c.epoch between 1 and p_epoch
                order by c.partition_id, c.group_id
                for no key update skip locked
            )
            select min(c.partition_id) into v_held
            from queen_store.cursors c
            where c.partition_id = any (v_locked) and c.epoch between 1 and p_epoch
              and (c.partition_id, c.group_id) not in (
                  select o.partition_id, o.group_id from ours o);
        end if;
        select least(v_held, min(i.id)) into v_held
        from unnest(v_lanes) i (id)
        where i.id <> all (coalesce(v_locked, '{}')) and (v_held is null or i.id < v_held);

        with moved as (
            delete from queen_store.segments s
            using unnest(v_ids, v_offsets) i (partition_id, base_offset)
            where s.epoch = p_epoch and s.partition_id = i.partition_id
              and s.base_offset = i.base_offset and (v_held is null or i.partition_id < v_held)
            returning s.partition_id, s.base_offset, s.end_offset, s.created_at, s.flush_id,
                s.keys, s.frames
        ),
        placed as (
            insert into queen_store.segments (
                epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys, frames)
            select 0, m.partition_id, m.base_offset, m.end_offset, m.created_at, m.flush_id, m.keys,
                   case when m.end_offset >= p.log_start then m.frames end
            from moved m
            cross join lateral (
                select p.log_start
                from queen_store.partitions p
                where p.id = m.partition_id
                limit 1) p
            order by m.partition_id, m.base_offset
        )
        update queen_store.cursors c
        set epoch = 0
        from (
            select m.partition_id, max(m.end_offset) as end_offset
            from moved m
            group by m.partition_id) m
        where c.partition_id = m.partition_id and c.epoch between 1 and p_epoch
          and c.committed < m.end_offset;
    end if;

    if v_held is not null then
        v_more := true;
        -- All rows below that lane are done, and of it what an earlier step has done.
        if v_held > v_after_id then
            v_after_id := v_held;
            v_after_offset := -1;
        end if;
    elsif v_last_id is not null then
        v_after_id := v_last_id;
        v_after_offset := v_last_offset;
    end if;
    update queen_store.epochs e
    set walked_partition_id = case when v_more then v_after_id end,
        walked_offset = case when v_more then v_after_offset end,
        state = case when v_more then e.state else 'empty' end
    where e.epoch = p_epoch;
    if not v_more then
        -- It holds more now than was counted.
        update queen_store.epochs e
        set counted_at = null
        where e.epoch = 0 and e.counted_at is not null;
    end if;
    return query
    select case when v_held is not null and not p_wait then 'held'
                when v_more then 'moved'
                else 'empty' end,
           case when not p_wait then v_held end, count(*), coalesce(sum(i.bytes), 0)::bigint
    from unnest(v_ids, v_bytes) i (partition_id, bytes)
    where v_held is null or i.partition_id < v_held;
end
$$;
comment on function queen_store.evacuate(
    integer, integer, integer, bigint, boolean, timestamptz) is
    'One step of moving what is alive in the oldest epoch to epoch 0. Locks: epochs: its row, in the last step 0 too; partitions, ascending id, skip locked; cursors of these lanes that name this epoch or an older one, skip locked; with p_wait those of the first lane, waits up to 250 ms each.';

-- queen_store.sweep_due: whether enough of epoch 0 is dead to be removed.
-- Called by  epoch_work
-- Locks      none
-- Returns    true while a walk is under way, or where p_dead_percent of a sample is dead
-- Cost       1 statement, and sample_epoch
create or replace function queen_store.sweep_due(p_dead_percent integer, p_now timestamptz)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
               select
               from queen_store.epochs e
               where e.epoch = 0 and e.walked_partition_id is not null)
        or exists (
            select
            from queen_store.sample_epoch(0, p_now) s
            where s.rows > s.live_rows
              and (s.rows - s.live_rows) * 100 >= s.rows * p_dead_percent);
end
$$;
comment on function queen_store.sweep_due(integer, timestamptz) is
    'Whether enough of epoch 0 is dead to be removed. Locks: none.';

-- queen_store.sweep_epoch: one step through epoch 0 that removes what is dead: the one place, but
-- for the purge of a tenant, where segments are deleted. Dead rows are nobody's, so no lane is
-- locked.
-- Called by  EpochProcedures
-- Locks      epochs: row 0
-- Returns    one row: rows deleted, and whether the walk has come to its end
-- Cost       3 statements for up to p_read_max rows
create or replace function queen_store.sweep_epoch(p_read_max integer, p_now timestamptz)
returns table (rows bigint, done boolean)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set lock_timeout = '1s'
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_after_id bigint;
    v_after_offset bigint;
    v_ids bigint[];
    v_offsets bigint[];
    v_read integer;
    v_deleted bigint;
begin
    select coalesce(e.walked_partition_id, 0), coalesce(e.walked_offset, -1)
    into v_after_id, v_after_offset
    from queen_store.epochs e
    where e.epoch = 0
    for no key update;

    select array_agg(s.partition_id) filter (where u.use = 'none'),
           array_agg(s.base_offset) filter (where u.use = 'none'),
           count(*),
           (array_agg(s.partition_id order by s.partition_id desc, s.base_offset desc))[1],
           (array_agg(s.base_offset order by s.partition_id desc, s.base_offset desc))[1]
    into v_ids, v_offsets, v_read, v_after_id, v_after_offset
    from (
        select s.partition_id, s.base_offset, s.end_offset, s.created_at
        from queen_store.segments s
        where s.epoch = 0 and (s.partition_id, s.base_offset) > (v_after_id, v_after_offset)
        order by s.partition_id, s.base_offset
        limit p_read_max) s
    left join lateral (
        select p.log_start, p.queue_id
        from queen_store.partitions p
        where p.id = s.partition_id
        limit 1) p on true
    left join lateral (
        select q.dedup_window_seconds, q.completed_retention_seconds, q.deleted_at
        from queen_store.queues q
        where q.id = p.queue_id
        limit 1) q on true
    cross join lateral (
        select queen_store.segment_use(
            s.end_offset, s.created_at, p.log_start, q.dedup_window_seconds,
            q.completed_retention_seconds, q.deleted_at, p_now) as use
        offset 0) u;

    delete from queen_store.segments s
    using unnest(v_ids, v_offsets) i (partition_id, base_offset)
    where s.epoch = 0 and s.partition_id = i.partition_id and s.base_offset = i.base_offset;
    get diagnostics v_deleted = row_count;

    update queen_store.epochs e
    set walked_partition_id = case when v_read = p_read_max then v_after_id end,
        walked_offset = case when v_read = p_read_max then v_after_offset end,
        counted_at = case when v_read = p_read_max then e.counted_at end
    where e.epoch = 0;
    return query select v_deleted, v_read < p_read_max;
end
$$;
comment on function queen_store.sweep_epoch(integer, timestamptz) is
    'One step through epoch 0 that removes what is dead. Locks: epochs: row 0.';
