-- Looking at messages without consuming them: a page from an offset, and one by transaction id.

-- queen_store.require_lane: number and bounds of the lane that a reader names.
-- Called by  queen.read, queen.message, queen.violations
-- Locks      none
-- Returns    one row
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       3 statements, an index probe each
create or replace function queen_store.require_lane(
    p_tenant_id uuid, p_queue text, p_partition text)
returns table (partition_id bigint, log_start bigint, last_offset bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_queue_id integer;
begin
    perform queen_store.require_name('queue', p_queue, 0, 1024);
    perform queen_store.require_name('partition', p_partition, 1, 1024);
    select q.id into v_queue_id
    from queen_store.queues q
    where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null;
    return query
    select p.id, p.log_start, p.last_offset
    from queen_store.partitions p
    where p.id = queen_store.lane_named(v_queue_id, p_partition);
    if not found then
        raise exception using errcode = 'QN404', message = 'not_found',
            detail = format('queue %s has no partition %s', p_queue, p_partition);
    end if;
end
$$;

comment on function queen_store.require_lane(uuid, text, text) is
    'Number and bounds of the lane that a reader names; refuses an unknown one. Locks: none.';

-- queen.read: messages of one partition from an offset on, consumed or not, changing nothing. A
-- payload is null where it has expired or is no JSON text; payload_bytes are the bytes as stored.
-- Called by  applications, people
-- Locks      none
-- Returns    up to p_limit rows by offset; offsets that retention has removed are passed over
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       2 statements on the primary key of the segments, which are at most p_limit + 1
create or replace function queen.read(
    p_queue text, p_partition text, p_from_offset bigint default 0, p_limit integer default 100,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    "offset" bigint, message_id uuid, transaction_id text, payload text, payload_bytes bytea,
    created_at timestamptz, trace_id uuid, producer text, encrypted boolean)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_lane bigint;
    v_from bigint;
    v_base bigint;
begin
    perform queen_store.require_number('from offset', p_from_offset, 0, 9223372036854775807);
    perform queen_store.require_number('limit', p_limit, 1, 10000);
    select l.partition_id, greatest(p_from_offset, l.log_start) into v_lane, v_from
    from queen_store.require_lane(p_tenant, p_queue, p_partition) l;
    select s.base_offset into v_base
    from queen_store.segments s
    where s.partition_id = v_lane and s.base_offset <= v_from
    order by s.base_offset desc
    limit 1;

    return query
    select d."offset", d.message_id, d.transaction_id,
           queen_store.payload_text(d.flags, d.payload), d.payload, s.created_at, d.trace_id,
           d.producer, d.flags & 32 > 0
    from (
        select s.base_offset, s.created_at, s.keys, s.frames
        from queen_store.segments s
        where s.partition_id = v_lane and s.base_offset >= coalesce(v_base, v_from)
        order by s.base_offset
        limit p_limit + 1) s
    cross join lateral queen_store.decode_segment(
        v_lane, s.base_offset, s.created_at, s.keys, s.frames) d
    where d."offset" >= v_from
    order by s.base_offset, d."offset"
    limit p_limit;
end
$$;

comment on function queen.read(text, text, bigint, integer, uuid) is
    'Messages of one partition from an offset on, without consuming them. Locks: none.';

-- queen_store.find_key: the newest message of a lane with that key. There is no index over keys, so
-- it reads them newest first: at most 100,000 segments or 64 MiB of keys (4 million messages).
-- Called by  queen.message, find_message
-- Locks      none
-- Returns    one row: every offset from searched_from on, up to p_before, has been looked at;
--            offset null = none of them has that key
-- Cost       1 cursor over the primary key of the segments; 16 bytes per message passed over
create or replace function queen_store.find_key(
    p_partition_id bigint, p_key bytea, p_log_start bigint, p_before bigint)
returns table (searched_from bigint, "offset" bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_segment record;
    v_segments integer := 0;
    v_bytes bigint := 0;
    v_searched_from bigint := least(p_before, p_log_start);
    v_offset bigint;
begin
    for v_segment in
        select s.base_offset, s.end_offset, s.keys
        from queen_store.segments s
        where s.partition_id = p_partition_id and s.base_offset < p_before
        order by s.base_offset desc
    loop
        exit when v_segment.end_offset < p_log_start;
        if v_segments = 100000 or v_bytes >= 67108864 then
            v_searched_from := v_segment.end_offset + 1;
            exit;
        end if;
        v_segments := v_segments + 1;
        v_bytes := v_bytes + octet_length(v_segment.keys);
        -- The first look is cheap and may hit between two keys; the second one counts in keys.
        if position(p_key in v_segment.keys) > 0 then
            select max(v_segment.base_offset + n.position) into v_offset
            from generate_series(0, octet_length(v_segment.keys) / 16 - 1) as n (position)
            where substr(v_segment.keys, n.position * 16 + 1, 16) = p_key
              and v_segment.base_offset + n.position >= p_log_start
              and v_segment.base_offset + n.position < p_before;
            if v_offset is not null then
                v_searched_from := v_offset;
                exit;
            end if;
        end if;
    end loop;
    return query select v_searched_from, v_offset;
end
$$;

comment on function queen_store.find_key(bigint, bytea, bigint, bigint) is
    'The newest message of a partition with that key, searched within a bound. Locks: none.';

-- queen.message: the newest message of a partition with that transaction id. There is no index over
-- transaction ids, so it reads the keys newest first: at most 100,000 segments or 64 MiB of keys
-- (4 million messages). searched_from says how far it came: every offset from there on has been
-- looked at. Not found with searched_from above the log start: ask again with p_before_offset =
-- that. Found: asking again that way finds an earlier one of the same id.
-- Called by  applications, people
-- Locks      none
-- Returns    one row; found = false has only searched_from
-- Raises     QN400 bad_request, QN404 not_found
-- Cost       that of find_key, and one detoast
create or replace function queen.message(
    p_queue text, p_partition text, p_transaction_id text, p_before_offset bigint default null,
    p_tenant uuid default '00000000-0000-0000-0000-000000000001')
returns table (
    found boolean, searched_from bigint, "offset" bigint, message_id uuid, transaction_id text,
    payload text, payload_bytes bytea, created_at timestamptz, trace_id uuid, producer text,
    encrypted boolean)
language plpgsql stable parallel unsafe
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    v_lane bigint;
    v_searched_from bigint;
    v_offset bigint;
begin
    perform queen_store.require_name('transaction id', p_transaction_id, 1, 65535);
    perform queen_store.require_number(
        'before offset', coalesce(p_before_offset, 0), 0, 9223372036854775807);
    select l.partition_id, k.searched_from, k."offset" into v_lane, v_searched_from, v_offset
    from queen_store.require_lane(p_tenant, p_queue, p_partition) l
    cross join lateral queen_store.find_key(
        l.partition_id, queen_store.key_of(p_transaction_id), l.log_start,
        coalesce(p_before_offset, l.last_offset + 1)) k;

    return query
    select m."offset" is not null, v_searched_from, m."offset", m.message_id,
           case when m."offset" is not null then p_transaction_id end,
           queen_store.payload_text(m.flags, m.payload), m.payload, m.created_at, m.trace_id,
           m.producer, m.flags & 32 > 0
    from (select) i
    left join lateral queen_store.message_at(v_lane, v_offset) m on true;
end
$$;

comment on function queen.message(text, text, text, bigint, uuid) is
    'The newest message of a partition with that transaction id, searched within a bound. Locks: none.';
