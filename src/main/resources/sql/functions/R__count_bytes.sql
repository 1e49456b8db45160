-- Bytes of queues: what they have stored per epoch. Told with the counts while an epoch is open,
-- and counted once when nothing is added to it any more.

-- queen_store.stored_bytes_of: bytes of what queues keep, and of all that is still there of them.
-- An epoch holds the newest messages of every lane that was written in it. So what is kept is taken
-- from the newest epoch down; of the one in which that ends, the share of its messages.
-- Called by  told_counts, stored_bytes
-- Locks      none
-- Returns    one row per queue; p_messages = what each keeps
-- Cost       1 statement for any number of queues: their rows per epoch, and all of count_deltas
create or replace function queen_store.stored_bytes_of(
    p_queue_ids integer[], p_messages bigint[])
returns table (queue_id integer, retained_bytes bigint, disk_bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with part as materialized (
        select b.queue_id, b.epoch, b.messages, b.bytes
        from queen_store.queue_epochs b
        join queen_store.epochs e on e.epoch = b.epoch
        where b.queue_id = any (p_queue_ids)
        union all
        -- Told, and not added to the open epoch yet.
        select d.queue_id, 2147483647, sum(d.stored)::bigint, sum(d.bytes)::bigint
        from queen_store.count_deltas d
        where d.queue_id = any (p_queue_ids) and d.group_id = 0
        group by d.queue_id
        having sum(d.bytes) > 0
    ),
    newest_first as (
        select p.queue_id, p.messages, p.bytes,
               coalesce(sum(p.messages) over (
                   partition by p.queue_id order by p.epoch desc
                   rows between unbounded preceding and 1 preceding), 0) as newer
        from part p
    )
    select i.queue_id,
           coalesce(sum(case when n.messages > 0
                             then n.bytes * least(1, greatest(0,
                                 (i.messages - n.newer)::numeric / n.messages)) end), 0)::bigint,
           coalesce(sum(n.bytes), 0)::bigint
    from unnest(p_queue_ids, p_messages) i (queue_id, messages)
    left join newest_first n on n.queue_id = i.queue_id
    group by i.queue_id;
end
$$;
comment on function queen_store.stored_bytes_of(integer[], bigint[]) is
    'Bytes of what queues keep, and of all that is still there of them. Locks: none.';

-- queen_store.stored_bytes: the same of one queue.
-- Called by  read_counts, left_behind, storage_pins, show_storage
-- Locks      none
-- Returns    one row
-- Cost       that of stored_bytes_of
create or replace function queen_store.stored_bytes(p_queue_id integer, p_messages bigint)
returns table (retained_bytes bigint, disk_bytes bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    select b.retained_bytes, b.disk_bytes
    from queen_store.stored_bytes_of(array[p_queue_id], array[p_messages]) b;
end
$$;
comment on function queen_store.stored_bytes(integer, bigint) is
    'Bytes of what a queue keeps, and of all that is still there of it. Locks: none.';

-- queen_store.uncounted_epoch: the oldest epoch that nothing is added to and that was not counted.
-- Called by  StatisticsProcedures
-- Locks      none
-- Returns    null = there is none
-- Cost       1 statement
create or replace function queen_store.uncounted_epoch()
returns integer
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select min(e.epoch)
        from queen_store.epochs e
        where e.state in ('evacuated', 'sealed') and e.counted_at is null);
end
$$;
comment on function queen_store.uncounted_epoch() is
    'The oldest epoch that nothing is added to and that was not counted. Locks: none.';

-- queen_store.count_epoch: one page of a walk over an epoch: what its segments hold, by queue.
-- Called by  StatisticsProcedures
-- Locks      none
-- Returns    one row per queue, queue_id null = of lanes that are gone; the last segment of the
--            page, to go on behind, null = that was all
-- Cost       1 statement over p_limit segments, nothing of them is decompressed; one index probe
--            per lane
create or replace function queen_store.count_epoch(
    p_epoch integer, p_after_partition_id bigint, p_after_offset bigint, p_limit integer)
returns table (
    queue_id integer, messages bigint, bytes bigint, last_partition_id bigint,
    last_offset bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with page as materialized (
        select s.partition_id, s.base_offset,
               case when s.frames is not null then s.end_offset - s.base_offset + 1 else 0 end
                   as messages,
               octet_length(s.keys) + coalesce(octet_length(s.frames), 0) as bytes
        from queen_store.segments s
        where s.epoch = p_epoch
          and (s.partition_id, s.base_offset) > (p_after_partition_id, p_after_offset)
        order by s.partition_id, s.base_offset
        limit p_limit
    ),
    lane as (
        select g.partition_id, sum(g.messages) as messages, sum(g.bytes) as bytes
        from page g
        group by g.partition_id
    ),
    last as (
        select g.partition_id, g.base_offset
        from page g
        order by g.partition_id desc, g.base_offset desc
        limit 1
    )
    select p.queue_id, sum(l.messages)::bigint, sum(l.bytes)::bigint,
           case when n.full then (select i.partition_id from last i) end,
           case when n.full then (select i.base_offset from last i) end
    from lane l
    left join lateral (
        select p.queue_id
        from queen_store.partitions p
        where p.id = l.partition_id
        limit 1) p on true
    cross join (select count(*) = p_limit as full from page) n
    group by p.queue_id, n.full;
end
$$;
comment on function queen_store.count_epoch(integer, bigint, bigint, integer) is
    'One page of a walk over an epoch: what its segments hold, by queue. Locks: none.';

-- queen_store.settle_epoch: what a walk over an epoch has found takes the place of what was told.
-- Commits without a flush, for what is lost is done again: called by brokers in autocommit only.
-- Called by  StatisticsProcedures
-- Locks      epochs: its row; waits; queue_epochs: rows of that epoch
-- Returns    whether the epoch was still one that nothing is added to
-- Cost       3 statements; rows are written where something was off
create or replace function queen_store.settle_epoch(
    p_epoch integer, p_queue_ids integer[], p_messages bigint[], p_bytes bigint[])
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_settled boolean;
begin
    update queen_store.epochs e
    set counted_at = clock_timestamp()
    where e.epoch = p_epoch and e.state in ('evacuated', 'sealed');
    v_settled := found;
    if v_settled then
        delete from queen_store.queue_epochs b
        where b.epoch = p_epoch and b.queue_id <> all (p_queue_ids);
        insert into queen_store.queue_epochs as b (queue_id, epoch, messages, bytes)
        select i.queue_id, p_epoch, i.messages, i.bytes
        from unnest(p_queue_ids, p_messages, p_bytes) i (queue_id, messages, bytes)
        order by i.queue_id
        on conflict (queue_id, epoch) do update
        set messages = excluded.messages, bytes = excluded.bytes
        where b.messages <> excluded.messages or b.bytes <> excluded.bytes;
    end if;
    perform set_config('synchronous_commit', 'off', true);
    return v_settled;
end
$$;
comment on function queen_store.settle_epoch(integer, integer[], bigint[], bigint[]) is
    'What a walk over an epoch has found takes the place of what was told. Locks: epochs: its row; waits; queue_epochs: rows of that epoch.';
