-- The purge of a tenant: nothing of it is left in any table. Steps are bounded, skip what somebody
-- holds, and may be repeated by anybody at any time; what comes next is read from the tables.
--
-- Queues go as they always do, and leave segments that nobody can reach. Those of queues that were
-- deleted long before may be there, too, and nothing says any more whose they were. So all epochs
-- are walked through, and every segment goes whose lane is gone: the one deletion row by row but
-- for epoch 0, for erasure may not wait until an epoch leaves.
--
-- It is no lock: who goes on writing for the tenant makes more to remove.

-- queen_store.order_purge: orders the purge of a tenant, or tells how it stands.
-- Called by  PurgeProcedures
-- Locks      purges: one row; waits
-- Returns    one row; done_at = it is done, and this was the last that is known of it: asked again
--            it begins anew
-- Raises     QN400 bad_request for the tenant of those without one, unless p_default;
--            QN500 internal where a table has tenants that no purge knows
-- Cost       3 statements, one on the catalogue
create or replace function queen_store.order_purge(p_tenant_id uuid, p_default boolean)
returns table (
    left_over text, queues bigint, timers bigint, segments bigint, others bigint,
    ordered_at timestamptz, done_at timestamptz)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    if p_tenant_id = '00000000-0000-0000-0000-000000000001' and not p_default then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = 'the default tenant is purged with allowDefault=true only';
    end if;
    perform queen_store.check_purged_tables();
    return query
    delete from queen_store.purges p
    where p.tenant_id = p_tenant_id and p.done_at is not null
    returning 'nothing', p.queues, p.timers, p.segments, p.others, p.ordered_at, p.done_at;
    if found then
        return;
    end if;
    insert into queen_store.purges (tenant_id, ordered_at)
    values (p_tenant_id, clock_timestamp())
    on conflict (tenant_id) do nothing;
    return query
    select queen_store.purge_left(p_tenant_id), p.queues, p.timers, p.segments, p.others,
           p.ordered_at, p.done_at
    from queen_store.purges p
    where p.tenant_id = p_tenant_id;
end
$$;
comment on function queen_store.order_purge(uuid, boolean) is
    'Orders the purge of a tenant, or tells how it stands. Locks: purges: one row; waits.';

-- queen_store.check_purged_tables: refuses to go on where a table has tenants that no purge knows:
-- to leave one out unnoticed would be the worst.
-- Called by  order_purge, next_purge
-- Locks      none
-- Returns    nothing
-- Raises     QN500 internal
-- Cost       1 statement on the catalogue
create or replace function queen_store.check_purged_tables()
returns void
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_unknown text;
begin
    select string_agg(c.relname, ', ' order by c.relname) into v_unknown
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relnamespace = 'queen_store'::regnamespace and c.relkind in ('r', 'p')
      and c.relname not in (
          'kv', 'kv_quotas', 'kv_usage', 'purges', 'queues', 'retention_history', 'timers',
          'trace_names', 'traces');
    if v_unknown is not null then
        raise exception using errcode = 'QN500', message = 'internal',
            detail = format('no purge removes the tenants of %s', v_unknown);
    end if;
end
$$;
comment on function queen_store.check_purged_tables() is
    'Refuses to go on where a table has tenants that no purge knows. Locks: none.';

-- queen_store.purge_left: what is next to be removed of a tenant.
-- Called by  order_purge, next_purge, queen.purges, note_purge
-- Locks      none
-- Returns    timers, queues (to be deleted), lanes (of deleted ones), segments, others or nothing.
--            Timers go first, for one that fires makes its queue again; quotas, among the others,
--            last, for without one a tenant may do less
-- Cost       1 statement, at most 9 index probes
create or replace function queen_store.purge_left(p_tenant_id uuid)
returns text
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    return case
        when exists (
            select from queen_store.timers t where t.tenant_id = p_tenant_id) then 'timers'
        when exists (
            select
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.deleted_at is null) then 'queues'
        when exists (
            select
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.deleted_at is not null) then 'lanes'
        when not (
            select p.walked from queen_store.purges p where p.tenant_id = p_tenant_id)
            then 'segments'
        when exists (select from queen_store.kv k where k.tenant_id = p_tenant_id)
          or exists (select from queen_store.traces t where t.tenant_id = p_tenant_id)
          or exists (select from queen_store.trace_names n where n.tenant_id = p_tenant_id)
          or exists (select from queen_store.retention_history h where h.tenant_id = p_tenant_id)
          or exists (select from queen_store.kv_usage u where u.tenant_id = p_tenant_id)
          or exists (select from queen_store.kv_quotas u where u.tenant_id = p_tenant_id)
            then 'others'
        else 'nothing' end;
end
$$;
comment on function queen_store.purge_left(uuid) is
    'What is next to be removed of a tenant. Locks: none.';

-- queen_store.has_purges: whether a purge is under way.
-- Called by  PurgeProcedures
-- Locks      none
-- Returns    false also where all that are known are done
-- Cost       1 statement over the tenants that are purged
create or replace function queen_store.has_purges()
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (select from queen_store.purges p where p.done_at is null);
end
$$;
comment on function queen_store.has_purges() is
    'Whether a purge is under way. Locks: none.';

-- queen_store.next_purge: the next purge that is under way, and what to do for it.
-- Called by  PurgeProcedures
-- Locks      none
-- Returns    one row: what is left as purge_left says; a deleted queue of the tenant, null = there
--            is none; how far the walk is. No row = there is none with a tenant above p_after; null
--            = the first of all
-- Raises     QN500 internal where a table has tenants that no purge knows
-- Cost       2 statements, one on the catalogue, and purge_left
create or replace function queen_store.next_purge(p_after uuid)
returns table (
    tenant_id uuid, left_over text, deleted_queue_id integer, walked_epoch integer,
    walked_partition_id bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    perform queen_store.check_purged_tables();
    return query
    select p.tenant_id, queen_store.purge_left(p.tenant_id),
           (
               select min(q.id)
               from queen_store.queues q
               where q.tenant_id = p.tenant_id and q.deleted_at is not null),
           p.walked_epoch, p.walked_partition_id
    from queen_store.purges p
    where p.done_at is null and (p_after is null or p.tenant_id > p_after)
    order by p.tenant_id
    limit 1;
end
$$;
comment on function queen_store.next_purge(uuid) is
    'The next purge that is under way, and what to do for it. Locks: none.';

-- queen_store.purge_timers: a step of removing the timers of a tenant.
-- Called by  PurgeProcedures
-- Locks      timers, skip locked
-- Returns    rows removed; 0 = somebody holds what is left
-- Cost       1 statement, one index range
create or replace function queen_store.purge_timers(p_tenant_id uuid, p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_removed integer;
begin
    delete from queen_store.timers t
    where t.ctid = any (array(
        select t.ctid
        from queen_store.timers t
        where t.tenant_id = p_tenant_id
        limit p_limit
        for update skip locked));
    get diagnostics v_removed = row_count;
    return v_removed;
end
$$;
comment on function queen_store.purge_timers(uuid, integer) is
    'A step of removing the timers of a tenant. Locks: timers, skip locked.';

-- queen_store.purge_queues: deletes some queues of a tenant, each when nothing that looks back at
-- it is left. The walk through the epochs begins anew.
-- Called by  PurgeProcedures
-- Locks      queues, skip locked; queue_buckets and queue_parked of these; purges: its row; waits
-- Returns    one row: the queues that are deleted now, for whoever keeps something of them, and
--            other rows that were removed; neither = somebody holds what is left
-- Cost       5 statements for up to 10 queues and p_limit rows of each table
create or replace function queen_store.purge_queues(p_tenant_id uuid, p_limit integer)
returns table (queue_ids integer[], removed integer)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_queues_max constant integer := 10;
    v_ids integer[];
    v_buckets integer;
    v_parked integer;
begin
    v_ids := array(
        select q.id
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.deleted_at is null
        order by q.id
        limit v_queues_max
        for no key update skip locked);
    delete from queen_store.queue_buckets b
    where b.ctid = any (array(
        select b.ctid
        from queen_store.queue_buckets b
        where b.queue_id = any (v_ids)
        limit p_limit));
    get diagnostics v_buckets = row_count;
    delete from queen_store.queue_parked k
    where k.ctid = any (array(
        select k.ctid
        from queen_store.queue_parked k
        where k.queue_id = any (v_ids)
        limit p_limit));
    get diagnostics v_parked = row_count;
    if v_buckets = p_limit or v_parked = p_limit then
        return query select '{}'::integer[], v_buckets + v_parked;
        return;
    end if;
    update queen_store.queues q
    set deleted_at = clock_timestamp()
    where q.id = any (v_ids);
    update queen_store.purges p
    set walked = false, walked_epoch = null, walked_partition_id = 0
    where p.tenant_id = p_tenant_id and (p.walked or p.walked_epoch is not null);
    return query select v_ids, v_buckets + v_parked;
end
$$;
comment on function queen_store.purge_queues(uuid, integer) is
    'Deletes some queues of a tenant. Locks: queues, skip locked; queue_buckets and queue_parked of these; purges: its row; waits.';

-- queen_store.purge_segments: a step through the epochs that removes segments whose lane is gone. A
-- lane goes under its lock and its number is never given to another, so such segments are nobody's
-- for ever. An epoch that is about to be dropped is waited for.
-- Called by  PurgeProcedures
-- Locks      none: segments that are nobody's
-- Returns    one row: the epoch and the lane it came to, null = that was the last epoch; segments
--            removed; the transaction that keeps an epoch from being dropped, null = none
-- Cost       3 statements: p_lanes index probes in the epoch and as many among the lanes; at most
--            p_limit segments
create or replace function queen_store.purge_segments(
    p_epoch integer, p_after_partition_id bigint, p_lanes integer, p_limit integer)
returns table (epoch integer, partition_id bigint, removed integer, waits boolean)
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_epoch integer;
    v_state text;
    v_lanes bigint[];
    v_ids bigint[];
    v_offsets bigint[];
    v_removed integer;
begin
    select e.epoch, e.state into v_epoch, v_state
    from queen_store.epochs e
    where e.epoch >= coalesce(p_epoch, 0) and e.state <> 'built'
    order by e.epoch
    limit 1;
    if v_epoch is null then
        return query select null::integer, null::bigint, 0, false;
        return;
    elsif v_state = 'empty' then
        return query select v_epoch, 0::bigint, 0, true;
        return;
    end if;

    -- Lane after lane by the index: however many segments one has, it costs a probe.
    with recursive lane as (
        (select s.partition_id, 1 as place
         from queen_store.segments s
         where s.epoch = v_epoch
           and s.partition_id > case when v_epoch = p_epoch then p_after_partition_id else 0 end
         order by s.partition_id
         limit 1)
        union all
        select n.partition_id, l.place + 1
        from lane l
        cross join lateral (
            select s.partition_id
            from queen_store.segments s
            where s.epoch = v_epoch and s.partition_id > l.partition_id
            order by s.partition_id
            limit 1) n
        where l.place < p_lanes
    )
    select array_agg(l.partition_id order by l.partition_id) into v_lanes from lane l;
    select array_agg(s.partition_id), array_agg(s.base_offset) into v_ids, v_offsets
    from (
        select s.partition_id, s.base_offset
        from unnest(v_lanes) l (id)
        cross join lateral (
            select s.partition_id, s.base_offset
            from queen_store.segments s
            where s.epoch = v_epoch and s.partition_id = l.id
            order by s.base_offset
            limit p_limit) s
        where not exists (select from queen_store.partitions p where p.id = l.id)
        limit p_limit) s;
    delete from queen_store.segments s
    using unnest(v_ids, v_offsets) i (partition_id, base_offset)
    where s.epoch = v_epoch and s.partition_id = i.partition_id
      and s.base_offset = i.base_offset;
    get diagnostics v_removed = row_count;
    return query
    select case when v_removed = p_limit or cardinality(v_lanes) = p_lanes then v_epoch
                else v_epoch + 1 end,
           -- Of the last lane there may be more.
           case when v_removed = p_limit then v_ids[p_limit] - 1
                when cardinality(v_lanes) = p_lanes then v_lanes[p_lanes]
                else 0::bigint end,
           v_removed, false;
end
$$;
comment on function queen_store.purge_segments(integer, bigint, integer, integer) is
    'A step through the epochs that removes segments whose lane is gone. Locks: none: segments that are nobody''s.';

-- queen_store.purge_others: a step of removing what a tenant has besides queues and timers.
-- Called by  PurgeProcedures
-- Locks      kv, skip locked; traces, trace_names, retention_history, kv_usage and kv_quotas of the
--            tenant, skip locked
-- Returns    rows removed; 0 = somebody holds what is left
-- Cost       6 statements, each one index range, at most p_limit rows
create or replace function queen_store.purge_others(p_tenant_id uuid, p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_rows integer;
    v_removed integer := 0;
begin
    delete from queen_store.kv k
    where k.ctid = any (array(
        select k.ctid
        from queen_store.kv k
        where k.tenant_id = p_tenant_id
        limit p_limit
        for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queen_store.traces t
    where t.ctid = any (array(
        select t.ctid
        from queen_store.traces t
        where t.tenant_id = p_tenant_id
        limit p_limit
        for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queen_store.trace_names n
    where n.ctid = any (array(
        select n.ctid
        from queen_store.trace_names n
        where n.tenant_id = p_tenant_id
        limit p_limit
        for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    delete from queen_store.retention_history h
    where h.ctid = any (array(
        select h.ctid
        from queen_store.retention_history h
        where h.tenant_id = p_tenant_id
        limit p_limit
        for update skip locked));
    get diagnostics v_rows = row_count;
    v_removed := v_removed + v_rows;
    -- What it may do goes with the last of what it has.
    if v_removed = 0 then
        delete from queen_store.kv_usage u where u.tenant_id = p_tenant_id;
        get diagnostics v_rows = row_count;
        v_removed := v_rows;
        delete from queen_store.kv_quotas u where u.tenant_id = p_tenant_id;
        get diagnostics v_rows = row_count;
        v_removed := v_removed + v_rows;
    end if;
    return v_removed;
end
$$;
comment on function queen_store.purge_others(uuid, integer) is
    'A step of removing what a tenant has besides queues and timers. Locks: kv, skip locked; traces, trace_names, retention_history, kv_usage and kv_quotas of the tenant, skip locked.';

-- queen_store.note_purge: what a step has removed, and how far the walk is.
-- Called by  PurgeProcedures
-- Locks      purges: its row; waits
-- Returns    whether nothing of the tenant is left, and the purge is done by this call
-- Cost       1 statement, and purge_left
create or replace function queen_store.note_purge(
    p_tenant_id uuid, p_queues bigint, p_timers bigint, p_segments bigint, p_others bigint,
    -- Of a step through the epochs; null = it was another.
    p_walked boolean, p_walked_epoch integer, p_walked_partition_id bigint)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
declare
    v_done boolean;
begin
    update queen_store.purges p
    set queues = p.queues + p_queues, timers = p.timers + p_timers,
        segments = p.segments + p_segments, others = p.others + p_others,
        walked = coalesce(p_walked, p.walked),
        walked_epoch = case when p_walked is null then p.walked_epoch else p_walked_epoch end,
        walked_partition_id = case when p_walked is null then p.walked_partition_id
                                   else coalesce(p_walked_partition_id, 0) end,
        worked_at = clock_timestamp()
    where p.tenant_id = p_tenant_id and p.done_at is null;
    v_done := found and queen_store.purge_left(p_tenant_id) = 'nothing';
    if v_done then
        update queen_store.purges p
        set done_at = clock_timestamp()
        where p.tenant_id = p_tenant_id;
    end if;
    return v_done;
end
$$;
comment on function queen_store.note_purge(
    uuid, bigint, bigint, bigint, bigint, boolean, integer, bigint) is
    'What a step of a purge has removed, and how far its walk is. Locks: purges: its row; waits.';
