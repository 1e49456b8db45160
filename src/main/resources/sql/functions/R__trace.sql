-- Traces: what applications note about messages, by message and by the names they give it.

-- queen_store.add_trace: stores a note about a message, which need not exist. p_worker is the name
-- of the broker.
-- Called by  TraceProcedures
-- Locks      none: traces, trace_names: new rows
-- Returns    false = the tenant has no such lane, and nothing was stored
-- Cost       3 statements: two index probes, one row, and one row per name
create or replace function queen_store.add_trace(
    p_tenant_id uuid, p_id uuid, p_partition_id bigint, p_transaction_id text, p_group text,
    p_event_type text, p_data text, p_names text[], p_worker text)
returns boolean
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := clock_timestamp();
    v_queue text;
    v_partition text;
begin
    select q.name, p.name into v_queue, v_partition
    from (
        select p.name, p.queue_id
        from queen_store.partitions p
        where p.id = p_partition_id
        limit 1) p
    join queen_store.queues q on q.id = p.queue_id
    where q.tenant_id = p_tenant_id and q.deleted_at is null;
    if not found then
        return false;
    end if;
    insert into queen_store.traces (
        id, tenant_id, queue, partition, partition_id, key, transaction_id, consumer_group,
        event_type, data, names, worker, created_at)
    values (
        p_id, p_tenant_id, v_queue, v_partition, p_partition_id,
        queen_store.key_of(p_transaction_id), p_transaction_id, p_group, p_event_type, p_data,
        p_names, p_worker, v_now);
    insert into queen_store.trace_names (tenant_id, name, created_at, trace_id)
    select distinct p_tenant_id, n.name, v_now, p_id
    from unnest(p_names) n (name);
    return true;
end
$$;
comment on function queen_store.add_trace(
    uuid, uuid, bigint, text, text, text, text, text[], text) is
    'Stores what an application notes about a message. Locks: none: traces, trace_names: new rows.';

-- queen_store.list_traces: a page of the notes about one message.
-- Called by  TraceReads
-- Locks      none
-- Returns    at most p_limit behind p_offset, in the order in which they were stored; data and
--            names come up to p_bytes_max of a page, data null = they are left out
-- Cost       1 statement, one index range of p_offset + p_limit notes
create or replace function queen_store.list_traces(
    p_tenant_id uuid, p_partition_id bigint, p_transaction_id text, p_limit integer,
    p_offset integer, p_bytes_max integer)
returns table (
    id uuid, event_type text, data text, consumer_group text, worker text,
    created_at timestamptz, names text[], transaction_id text, partition_id bigint, queue text,
    partition text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
begin
    return query
    select t.id, t.event_type, case when t.bytes_so_far <= p_bytes_max then t.data end,
           t.consumer_group, t.worker, t.created_at,
           case when t.bytes_so_far <= p_bytes_max then t.names else '{}' end, t.transaction_id,
           t.partition_id, t.queue, t.partition
    from (
        select t.*, sum(octet_length(t.data) + octet_length(t.names::text)) over (
                   order by t.created_at, t.id rows unbounded preceding) as bytes_so_far
        from (
            select t.*
            from queen_store.traces t
            where t.partition_id = p_partition_id
              and t.key = queen_store.key_of(p_transaction_id) and t.tenant_id = p_tenant_id
            order by t.created_at, t.id
            limit p_limit
            offset p_offset) t) t
    order by t.created_at, t.id;
end
$$;
comment on function queen_store.list_traces(uuid, bigint, text, integer, integer, integer) is
    'A page of the notes about one message, oldest first. Locks: none.';

-- queen_store.list_named_traces: a page of the notes that have a name.
-- Called by  TraceReads
-- Locks      none
-- Returns    as list_traces
-- Cost       1 statement: p_offset + p_limit entries of an index, and a probe for each of the page
create or replace function queen_store.list_named_traces(
    p_tenant_id uuid, p_name text, p_limit integer, p_offset integer, p_bytes_max integer)
returns table (
    id uuid, event_type text, data text, consumer_group text, worker text,
    created_at timestamptz, names text[], transaction_id text, partition_id bigint, queue text,
    partition text)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
#variable_conflict use_column
begin
    return query
    select t.id, t.event_type, case when t.bytes_so_far <= p_bytes_max then t.data end,
           t.consumer_group, t.worker, t.created_at,
           case when t.bytes_so_far <= p_bytes_max then t.names else '{}' end, t.transaction_id,
           t.partition_id, t.queue, t.partition
    from (
        select t.*, sum(octet_length(t.data) + octet_length(t.names::text)) over (
                   order by t.created_at, t.id rows unbounded preceding) as bytes_so_far
        from (
            select n.trace_id
            from queen_store.trace_names n
            where n.tenant_id = p_tenant_id and n.name = p_name
            order by n.created_at, n.trace_id
            limit p_limit
            offset p_offset) n
        cross join lateral (
            select t.*
            from queen_store.traces t
            where t.id = n.trace_id
            limit 1) t) t
    order by t.created_at, t.id;
end
$$;
comment on function queen_store.list_named_traces(uuid, text, integer, integer, integer) is
    'A page of the notes that have a name, oldest first. Locks: none.';

-- queen_store.count_named_traces: how many notes have a name.
-- Called by  TraceReads
-- Locks      none
-- Returns    p_max at most
-- Cost       1 statement, p_max entries of an index
create or replace function queen_store.count_named_traces(
    p_tenant_id uuid, p_name text, p_max integer)
returns bigint
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
    return (
        select count(*)
        from (
            select
            from queen_store.trace_names n
            where n.tenant_id = p_tenant_id and n.name = p_name
            limit p_max) n);
end
$$;
comment on function queen_store.count_named_traces(uuid, text, integer) is
    'How many notes have a name, counted up to a bound. Locks: none.';

-- queen_store.list_trace_names: a page of the names that notes have, those seen last first.
-- Called by  TraceReads
-- Locks      none
-- Returns    total = names there are, among the first p_max in their order, and so for the page;
--            traces and messages are counted until either has looked at its share of the page per
--            name: of 1,000,000 index entries, p_max at most, and of 10,000 notes. complete =
--            false: there may be more
-- Cost       1 statement: two index probes per name, and these shares
create or replace function queen_store.list_trace_names(
    p_tenant_id uuid, p_limit integer, p_offset integer, p_max integer)
returns table (
    name text, traces bigint, messages bigint, last_seen timestamptz, total bigint,
    complete boolean)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with recursive found (name, place) as (
        (select n.name, 1
         from queen_store.trace_names n
         where n.tenant_id = p_tenant_id
         order by n.name
         limit 1)
        union all
        select i.name, f.place + 1
        from found f
        cross join lateral (
            select n.name
            from queen_store.trace_names n
            where n.tenant_id = p_tenant_id and n.name > f.name
            order by n.name
            limit 1) i
        where f.place < p_max
    ),
    page as materialized (
        select f.name, l.created_at as last_seen, count(*) over () as total
        from found f
        cross join lateral (
            select n.created_at
            from queen_store.trace_names n
            where n.tenant_id = p_tenant_id and n.name = f.name
            order by n.created_at desc
            limit 1) l
        order by l.created_at desc, f.name
        limit p_limit
        offset p_offset
    ),
    share as materialized (
        select p.name, p.last_seen, p.total,
               least(1000000 / count(*) over (), p_max) as entries,
               least(10000 / count(*) over (), p_max) as notes
        from page p
    )
    select s.name, c.traces, m.messages, s.last_seen, s.total,
           c.traces < s.entries and c.traces <= s.notes
    from share s
    cross join lateral (
        select count(*) as traces
        from (
            select
            from queen_store.trace_names n
            where n.tenant_id = p_tenant_id and n.name = s.name
            limit s.entries) n) c
    cross join lateral (
        select count(distinct (t.partition_id, t.key)) as messages
        from (
            select n.trace_id
            from queen_store.trace_names n
            where n.tenant_id = p_tenant_id and n.name = s.name
            order by n.created_at desc
            limit s.notes) n
        join queen_store.traces t on t.id = n.trace_id) m
    order by s.last_seen desc, s.name;
end
$$;
comment on function queen_store.list_trace_names(uuid, integer, integer, integer) is
    'A page of the names that notes have, those seen last first. Locks: none.';

-- queen_store.has_old_traces: whether a note is older than an instant.
-- Called by  StorageProcedures
-- Locks      none
-- Returns    whether there is one
-- Cost       1 statement, one index probe
create or replace function queen_store.has_old_traces(p_before timestamptz)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
    return exists (select from queen_store.traces t where t.created_at < p_before);
end
$$;
comment on function queen_store.has_old_traces(timestamptz) is
    'Whether a note is older than an instant. Locks: none.';

-- queen_store.remove_old_traces: a step of removing notes that are older than an instant, oldest
-- first, and their names with them.
-- Called by  StorageProcedures
-- Locks      traces, skip locked; trace_names: rows of these
-- Returns    notes removed; fewer than p_limit = that was all, but for what others held
-- Cost       3 statements: an index range of p_limit notes, a probe per name, one per note
create or replace function queen_store.remove_old_traces(p_before timestamptz, p_limit integer)
returns integer
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    v_ids uuid[];
begin
    v_ids := array(
        select t.id
        from queen_store.traces t
        where t.created_at < p_before
        order by t.created_at
        limit p_limit
        for update skip locked);
    delete from queen_store.trace_names n
    using queen_store.traces t
    cross join lateral unnest(t.names) u (name)
    where t.id = any (v_ids)
      and n.tenant_id = t.tenant_id and n.name = u.name and n.created_at = t.created_at
      and n.trace_id = t.id;
    delete from queen_store.traces t
    where t.id = any (v_ids);
    perform set_config('synchronous_commit', 'off', true);
    return cardinality(v_ids);
end
$$;
comment on function queen_store.remove_old_traces(timestamptz, integer) is
    'A step of removing old notes and their names. Locks: traces, skip locked; trace_names: rows of these.';
