-- What administrators ask about messages: lists, newest first, and one message. Read from the
-- segments above log_start, so that every message that can be delivered can be seen.

-- queen_store.find_messages: where the messages of a page are. The lanes that were written last are
-- merged, newest message first, for as long as one of them may have a message of the page.
-- Called by  MessageReads
-- Locks      none
-- Returns    one row: at most p_limit places, newest first; next_* = the place behind which the
--            next page begins, null = there is none. complete = false: lanes, or segments of them,
--            were left out, for 1,000 lanes, 20,000 segments, 64 MiB of their keys or 1,000 queues
--            had been looked at; in one lane the next page goes on there. Null = any, for every
--            filter; p_from is inclusive, p_to exclusive, p_before_* the place that the page begins
--            behind
-- Cost       1 index range of the lanes, and last_before of these; the segments that are read, of
--            as many lanes as the page has messages, or of all where a key is sought
create or replace function queen_store.find_messages(
    p_tenant_id uuid, p_queue text, p_partition text, p_namespace text, p_task text, p_key bytea,
    p_from timestamptz, p_to timestamptz, p_before_at timestamptz, p_before_partition_id bigint,
    p_before_offset bigint, p_limit integer)
returns table (
    partition_ids bigint[], base_offsets bigint[], offsets bigint[], complete boolean,
    next_at timestamptz, next_partition_id bigint, next_offset bigint)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
-- Or the segments of each lane would be planned anew.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_queues_max constant integer := 1000;
    v_lanes_max constant integer := 1000;
    v_segments_max constant integer := 20000;
    -- Of keys, which are read where one of them is sought.
    v_bytes_max constant integer := 67108864;
    -- One more than the page, to know whether another one follows.
    v_wanted constant integer := p_limit + 1;
    v_queue_ids integer[];
    v_per_queue integer;
    v_lane_ids bigint[];
    v_log_starts bigint[];
    v_untils timestamptz[];
    -- When the first lanes that were left out were written last.
    v_left_out_at timestamptz;
    v_lane record;
    v_segment record;
    v_low bigint;
    v_segments integer := 0;
    v_bytes bigint := 0;
    v_taken integer;
    v_here bigint[];
    -- Of the oldest place of a page that is full already.
    v_floor timestamptz := '-infinity';
    v_ids bigint[] := '{}';
    v_bases bigint[] := '{}';
    v_offsets bigint[] := '{}';
    v_ats timestamptz[] := '{}';
begin
    if p_queue is not null then
        v_queue_ids := array(
            select q.id
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null
              and (p_namespace is null or q.namespace = p_namespace)
              and (p_task is null or q.task = p_task));
    else
        v_queue_ids := array(
            select q.id
            from queen_store.queues q
            where q.tenant_id = p_tenant_id and q.deleted_at is null
              and (p_namespace is null or q.namespace = p_namespace)
              and (p_task is null or q.task = p_task)
            order by q.id desc
            limit v_queues_max + 1);
    end if;
    complete := cardinality(v_queue_ids) <= v_queues_max;
    v_queue_ids := v_queue_ids[: v_queues_max];
    if p_partition is not null then
        v_lane_ids := array(
            select l.id
            from (
                select queen_store.lane_named(q.id, p_partition) as id
                from unnest(v_queue_ids) q (id)
                offset 0) l
            where l.id is not null);
    else
        v_per_queue := least(v_lanes_max + 1, 100000 / greatest(cardinality(v_queue_ids), 1));
        select array_agg(l.id) filter (where l.number <= v_lanes_max),
               max(l.last_write_at) filter (
                   where l.number > v_lanes_max
                      or l.place = v_per_queue and v_per_queue <= v_lanes_max)
        into v_lane_ids, v_left_out_at
        from (
            select p.id, p.last_write_at, p.place,
                   row_number() over (order by p.last_write_at desc, p.id desc) as number
            from unnest(v_queue_ids) q (id)
            cross join lateral (
                select p.id, p.last_write_at,
                       row_number() over (order by p.last_write_at desc) as place
                from queen_store.partitions p
                where p.queue_id = q.id and p.last_offset >= p.log_start
                  and p.last_write_at >= p_from - interval '1 second'
                order by p.last_write_at desc
                limit v_per_queue) p
            order by number
            limit v_lanes_max + 1) l;
    end if;
    select array_agg(p.id order by p.id), array_agg(p.log_start order by p.id),
           -- Places are in order of created_at, lane and offset.
           array_agg(
               case when p.id = p_before_partition_id then p_to
                    when p.id < p_before_partition_id
                        then least(p_to, p_before_at + interval '1 microsecond')
                    else least(p_to, p_before_at) end order by p.id)
    into v_lane_ids, v_log_starts, v_untils
    from unnest(v_lane_ids) i (id)
    cross join lateral (
        select p.id, p.log_start
        from queen_store.partitions p
        where p.id = i.id
        limit 1) p;
    for v_lane in
        select v_lane_ids[b.ordinal] as id, v_log_starts[b.ordinal] as log_start,
               case when v_lane_ids[b.ordinal] = p_before_partition_id
                    then least(b."offset", p_before_offset - 1) else b."offset" end as high,
               b.created_at
        from queen_store.last_before(v_lane_ids, v_untils) b
        where b.created_at >= p_from
        order by b.created_at desc, 1 desc
    loop
        exit when v_lane.created_at < v_floor;
        if v_segments = v_segments_max or v_bytes >= v_bytes_max then
            complete := false;
            exit;
        end if;
        v_taken := 0;
        for v_segment in
            select s.base_offset, s.end_offset, s.created_at,
                   case when p_key is not null then s.keys end as keys
            from queen_store.segments s
            where s.partition_id = v_lane.id and s.base_offset <= v_lane.high
            order by s.base_offset desc
        loop
            exit when v_segment.end_offset < v_lane.log_start or v_segment.created_at < p_from
                or v_segment.created_at < v_floor or v_taken >= v_wanted;
            if v_segments = v_segments_max or v_bytes >= v_bytes_max then
                complete := false;
                if p_partition is not null and p_queue is not null then
                    next_at := v_segment.created_at;
                    next_partition_id := v_lane.id;
                    next_offset := least(v_segment.end_offset, v_lane.high) + 1;
                end if;
                exit;
            end if;
            v_segments := v_segments + 1;
            v_bytes := v_bytes + coalesce(octet_length(v_segment.keys), 0);
            v_low := greatest(v_segment.base_offset, v_lane.log_start);
            if p_key is null then
                v_low := greatest(
                    v_low, least(v_segment.end_offset, v_lane.high) - (v_wanted - v_taken) + 1);
            elsif position(p_key in v_segment.keys) = 0 then
                continue;
            end if;
            v_here := array(
                select o.place
                from generate_series(least(v_segment.end_offset, v_lane.high), v_low, -1) o (place)
                where p_key is null
                   or substr(v_segment.keys,
                             (o.place - v_segment.base_offset)::integer * 16 + 1, 16) = p_key);
            v_ids := v_ids || array_fill(v_lane.id, array[cardinality(v_here)]);
            v_bases := v_bases || array_fill(v_segment.base_offset, array[cardinality(v_here)]);
            v_ats := v_ats || array_fill(v_segment.created_at, array[cardinality(v_here)]);
            v_offsets := v_offsets || v_here;
            v_taken := v_taken + cardinality(v_here);
        end loop;
        if v_taken > 0 then
            select array_agg(f.id order by f.at desc, f.id desc, f.place desc),
                   array_agg(f.base order by f.at desc, f.id desc, f.place desc),
                   array_agg(f.place order by f.at desc, f.id desc, f.place desc),
                   array_agg(f.at order by f.at desc, f.id desc, f.place desc)
            into v_ids, v_bases, v_offsets, v_ats
            from (
                select f.id, f.base, f.place, f.at
                from unnest(v_ids, v_bases, v_offsets, v_ats) f (id, base, place, at)
                order by f.at desc, f.id desc, f.place desc
                limit v_wanted) f;
            if cardinality(v_ids) = v_wanted then
                v_floor := v_ats[v_wanted];
            end if;
        end if;
    end loop;
    -- last_write_at is exact to one second.
    if v_left_out_at + interval '1 second' >= v_floor then
        complete := false;
    end if;
    partition_ids := v_ids[: p_limit];
    base_offsets := v_bases[: p_limit];
    offsets := v_offsets[: p_limit];
    if cardinality(v_ids) = v_wanted then
        next_at := v_ats[p_limit];
        next_partition_id := v_ids[p_limit];
        next_offset := v_offsets[p_limit];
    end if;
    return next;
end
$$;
comment on function queen_store.find_messages(
    uuid, text, text, text, text, bytea, timestamptz, timestamptz, timestamptz, bigint, bigint,
    integer) is
    'Where the messages of a page are, newest first, among as much as may be looked at. Locks: none.';

-- queen_store.group_kinds: who consumes a queue: whether pops without a group do, and how many
-- named groups.
-- Called by  MessageReads
-- Locks      none
-- Returns    one row, also where there is no such queue; named groups are counted to 10,000
-- Cost       2 statements, one index range
create or replace function queen_store.group_kinds(p_tenant_id uuid, p_queue text)
returns table (unnamed boolean, named integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    v_groups_max constant integer := 10000;
    v_queue_id constant integer := (
        select q.id
        from queen_store.queues q
        where q.tenant_id = p_tenant_id and q.name = p_queue and q.deleted_at is null);
begin
    return query
    select coalesce(bool_or(g.name = '__QUEUE_MODE__'), false),
           count(*) filter (where g.name <> '__QUEUE_MODE__')::integer
    from (
        select g.name
        from queen_store.groups g
        where g.queue_id = v_queue_id and g.is_known
        limit v_groups_max) g;
end
$$;
comment on function queen_store.group_kinds(uuid, text) is
    'Who consumes a queue: pops without a group, and how many named groups. Locks: none.';

-- queen_store.read_messages: what a page shows of messages.
-- Called by  MessageReads
-- Locks      none
-- Returns    those of these places that are still there, in their order. Payloads come up to
--            p_payload_bytes, omitted = it was there but is left out. status: dead_letter = a group
--            gave it up, completed = pops without a group, or if there are none all groups, have
--            passed it, processing = a live lease holds it, else pending; queue_status is that of
--            pops without a group alone, null = there are none
-- Cost       1 statement: one detoast per segment; lane_places, and 1 index probe where there is a
--            lease; 1 index probe of the dead letters per message
create or replace function queen_store.read_messages(
    p_partition_ids bigint[], p_base_offsets bigint[], p_offsets bigint[],
    p_payload_bytes integer)
returns table (
    partition_id bigint, queue text, partition text, namespace text, task text, "offset" bigint,
    base_offset bigint, created_at timestamptz, message_id uuid, transaction_id text, key bytea,
    flags smallint, trace_id uuid, producer text, payload bytea, omitted boolean, status text,
    queue_status text, lease_expires_at timestamptz, groups_passed integer, groups_total integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_mergejoin = off
set plan_cache_mode = force_custom_plan
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with lane as materialized (
        select i.id, p.name as partition, q.id as queue_id, q.name as queue, q.namespace, q.task
        from (select distinct i.id from unnest(p_partition_ids) i (id)) i
        join queen_store.partitions p on p.id = i.id
        join queen_store.queues q on q.id = p.queue_id
    ),
    place as materialized (
        select p.partition_id as id, p.is_unnamed, p.committed, c.committed as lease_from,
               c.batch_end as lease_to, c.lease_expires_at
        from queen_store.lane_places(array(select l.id from lane l), null) p
        left join lateral (
            select c.committed, c.batch_end, c.lease_expires_at
            from queen_store.cursors c
            where c.partition_id = p.partition_id and c.group_id = p.group_id and p.live > 0
            limit 1) c on true
        where p.group_id is not null
    ),
    message as materialized (
        select b.places[d.position] as place, b.partition_id, b.base_offset, s.created_at, d.*
        from (
            select i.partition_id, i.base_offset, array_agg(i."offset") as offsets,
                   array_agg(i.place) as places
            from unnest(p_partition_ids, p_base_offsets, p_offsets) with ordinality
                i (partition_id, base_offset, "offset", place)
            group by i.partition_id, i.base_offset) b
        cross join lateral (
            select s.created_at, s.keys, s.frames
            from queen_store.segments s
            where s.partition_id = b.partition_id and s.base_offset = b.base_offset
            limit 1) s
        -- Searched for in an array: joined with, a segment would be decoded anew for each of them.
        cross join lateral (
            select d.*, array_position(b.offsets, d."offset") as position
            from queen_store.decode_segment(
                b.partition_id, b.base_offset, s.created_at, s.keys, s.frames) d
            offset 0) d
        where d.position is not null
    )
    select m.partition_id, l.queue, l.partition, l.namespace, l.task, m."offset", m.base_offset,
           m.created_at, m.message_id, m.transaction_id, m.key, m.flags, m.trace_id, m.producer,
           case when m.bytes_so_far <= p_payload_bytes then m.payload end,
           m.payload is not null and m.bytes_so_far > p_payload_bytes,
           case when x.given_up then 'dead_letter'
                when g.unnamed_passed
                  or (g.unnamed_passed is null and g.total > 0 and g.passed = g.total)
                    then 'completed'
                when g.leased_until is not null then 'processing'
                else 'pending' end,
           case when g.unnamed_passed then 'completed'
                when g.unnamed_leased then 'processing'
                when not g.unnamed_passed then 'pending' end,
           g.leased_until, g.passed, g.total
    from (
        select m.*,
               coalesce(sum(octet_length(m.payload)) over (
                   order by m.place rows unbounded preceding), 0) as bytes_so_far
        from message m) m
    join lane l on l.id = m.partition_id
    cross join lateral (
        select bool_or(coalesce(g.committed >= m."offset", false)) filter (where g.is_unnamed)
                   as unnamed_passed,
               bool_or(g.lease_from < m."offset" and g.lease_to >= m."offset")
                   filter (where g.is_unnamed) as unnamed_leased,
               count(*) filter (where not g.is_unnamed and g.committed >= m."offset")::integer
                   as passed,
               count(*) filter (where not g.is_unnamed)::integer as total,
               max(g.lease_expires_at) filter (
                   where g.lease_from < m."offset" and g.lease_to >= m."offset") as leased_until
        from place g
        where g.id = m.partition_id) g
    cross join lateral (
        select exists (
            select
            from queen_store.dead_letters x
            where x.partition_id = m.partition_id and x.key = m.key
              and x."offset" = m."offset") as given_up
        offset 0) x
    order by m.place;
end
$$;
comment on function queen_store.read_messages(bigint[], bigint[], bigint[], integer) is
    'What a page shows of messages. Locks: none.';

-- queen_store.find_message: where a message is that its transaction id and its lane name.
-- Called by  MessageReads
-- Locks      none
-- Returns    no row = the tenant has no such lane; else one: places null = there is none, or it was
--            not found from searched_from on. complete = all that is kept was looked at.
--            occurrences 2 = the lane has an older one of that id, too. p_offset = at that place or
--            nowhere
-- Cost       with p_offset 1 probe of the segments; else that of find_key, twice where it is found
create or replace function queen_store.find_message(
    p_tenant_id uuid, p_partition_id bigint, p_transaction_id text, p_offset bigint)
returns table (
    base_offset bigint, "offset" bigint, searched_from bigint, complete boolean,
    occurrences integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
declare
    v_key bytea := queen_store.key_of(p_transaction_id);
    v_log_start bigint;
    v_last_offset bigint;
    v_offset bigint;
    v_base_offset bigint;
    v_keys bytea;
    v_searched_from bigint;
    v_older bigint;
begin
    select p.log_start, p.last_offset into v_log_start, v_last_offset
    from queen_store.partitions p
    join queen_store.queues q on q.id = p.queue_id
    where p.id = p_partition_id and q.tenant_id = p_tenant_id and q.deleted_at is null;
    if not found then
        return;
    end if;
    if p_offset is not null then
        v_offset := case when p_offset >= v_log_start then p_offset end;
        v_searched_from := p_offset;
    else
        select k.searched_from, k."offset" into v_searched_from, v_offset
        from queen_store.find_key(p_partition_id, v_key, v_log_start, v_last_offset + 1) k;
        select k."offset" into v_older
        from queen_store.find_key(p_partition_id, v_key, v_log_start, v_offset) k
        where v_offset is not null;
    end if;
    select s.base_offset, s.keys into v_base_offset, v_keys
    from queen_store.segments s
    where s.partition_id = p_partition_id and s.base_offset <= v_offset
    order by s.base_offset desc
    limit 1;
    if substr(v_keys, (v_offset - v_base_offset)::integer * 16 + 1, 16) is distinct from v_key then
        v_offset := null;
    end if;
    return query
    select v_base_offset, v_offset, v_searched_from,
           p_offset is null and (v_offset is not null or v_searched_from <= v_log_start),
           case when v_offset is null then 0 when v_older is null then 1 else 2 end;
end
$$;
comment on function queen_store.find_message(uuid, bigint, text, bigint) is
    'Where a message is that its transaction id and its lane name. Locks: none.';

-- queen_store.message_groups: what the groups of a queue have to do with one message.
-- Called by  MessageReads
-- Locks      none
-- Returns    one row per group, by name; at most p_limit. error and retry_count are those of its
--            newest dead letter of the message, null = it has none
-- Cost       1 statement; per group effective_cursor and 2 index probes
create or replace function queen_store.message_groups(
    p_partition_id bigint, p_offset bigint, p_key bytea, p_limit integer)
returns table (
    consumer_group text, consumed boolean, lease_expires_at timestamptz, error text,
    retry_count integer)
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan
as $$
#variable_conflict use_column
begin
    return query
    select g.name,
           coalesce(queen_store.effective_cursor(p_partition_id, g.id) >= p_offset, false),
           c.lease_expires_at, d.error, d.retry_count
    from queen_store.partitions p
    join queen_store.groups g on g.queue_id = p.queue_id and g.is_known
    left join lateral (
        select c.lease_expires_at
        from queen_store.cursors c
        where c.partition_id = p_partition_id and c.group_id = g.id
          and c.generation = g.generation and c.lease_expires_at > clock_timestamp()
          and p_offset > c.committed and p_offset <= c.batch_end) c on true
    left join lateral (
        select d.error, d.retry_count
        from queen_store.dead_letters d
        where d.partition_id = p_partition_id and d.key = p_key and d."offset" = p_offset
          and d.group_name = g.name
        order by d.failed_at desc
        limit 1) d on true
    where p.id = p_partition_id
    order by g.name
    limit p_limit;
end
$$;
comment on function queen_store.message_groups(bigint, bigint, bytea, integer) is
    'What the groups of a queue have to do with one message. Locks: none.';
