-- The segment format in SQL: everything stored can be read, and written, without the broker. The
-- broker has the same codec in the room segment.
--
-- keys    16 bytes per message.
-- frames  a directory of 4-byte big-endian end offsets, counted from its own end, then the
-- messages:
--         1 byte of flags, 16 bytes of promised id (flag 8), length and UTF-8 of the transactionId
--         (1), 16 bytes of trace id (2), length and UTF-8 of the producer (4), the payload. Lengths
--         have 2 bytes. Flag 16: the id is the key; 32: the payload is an encryption envelope;
--         64: it is not JSON text.

-- queen_store.utf8_text: bytes as text, if they are.
-- Called by  decode_segment, payload_text
-- Locks      none
-- Returns    null where the bytes are not valid UTF-8 or hold a NUL
-- Raises     nothing
-- Cost       one subtransaction, some 2 us: not for hot paths
create or replace function queen_store.utf8_text(p_bytes bytea)
returns text
language plpgsql immutable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    return convert_from(p_bytes, 'UTF8');
exception when character_not_in_repertoire or untranslatable_character then
    return null;
end
$$;

comment on function queen_store.utf8_text(bytea) is
    'Bytes as text; null where they are not valid UTF-8. Locks: none.';

-- queen_store.payload_text: the payload of a message for human eyes.
-- Called by  views, queen API functions
-- Locks      none
-- Returns    null where it is encrypted, not JSON text or not valid UTF-8
-- Raises     nothing
-- Cost       one subtransaction, some 2 us
create or replace function queen_store.payload_text(p_flags smallint, p_payload bytea)
returns text
language plpgsql immutable parallel unsafe
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_flags & 96 = 0 then
        return queen_store.utf8_text(p_payload);
    end if;
    return null;
end
$$;

comment on function queen_store.payload_text(smallint, bytea) is
    'Payload as text; null where it is encrypted, not JSON text or not valid UTF-8. Locks: none.';

-- queen_store.frame_end: an entry of the directory of a segment.
-- Called by  decode_segment, message_at, stored_ids, cut_frames, segment_violations
-- Locks      none
-- Returns    where message p_index (from 0) ends, counted from the end of the directory
-- Raises     2202E where the bytes hold no such entry: callers check first
-- Cost       inlined
create or replace function queen_store.frame_end(p_frames bytea, p_index integer)
returns bigint
language sql immutable parallel safe
return (get_byte(p_frames, 4 * p_index)::bigint << 24)
    | (get_byte(p_frames, 4 * p_index + 1) << 16)
    | (get_byte(p_frames, 4 * p_index + 2) << 8)
    | get_byte(p_frames, 4 * p_index + 3);

comment on function queen_store.frame_end(bytea, integer) is
    'Entry of the directory of a segment: where a message ends. Locks: none.';

-- queen_store.decode_segment: the messages of a segment.
-- Called by  message_at, read_messages, segment_violations, views, queen API functions
-- Locks      none
-- Returns    one row per key, in order of offset; what cannot be known is null (payload expired,
--            damaged bytes)
-- Raises     nothing, whatever the bytes are
-- Cost       1 statement, one detoast; some 2 us per message
create or replace function queen_store.decode_segment(
    p_partition_id bigint, p_base_offset bigint, p_created_at timestamptz,
    p_keys bytea, p_frames bytea)
returns table (
    "offset" bigint, message_id uuid, transaction_id text, key bytea, flags smallint,
    trace_id uuid, producer text, payload bytea)
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
-- Planning takes as long as decoding some hundred messages; callers may ask for custom plans.
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    -- Concatenation detoasts once; every substring and get_byte of the argument would do it again.
    v_keys bytea := p_keys || ''::bytea;
    v_frames bytea := p_frames || ''::bytea;
    v_messages integer := octet_length(v_keys) / 16;
    v_directory integer := v_messages * 4;
    v_length integer := octet_length(v_frames);
    v_id_high bytea := substring(
        uuid_send(queen_store.message_id(p_created_at, p_partition_id, 0)) from 1 for 8);
    v_id_low bigint := (1::bigint << 63) | ((p_partition_id & 16777215) << 38);
begin
    if v_directory > v_length then
        v_length := null;
    end if;
    -- Each step finds the position the next one needs, null from where the bytes make no sense.
    -- OFFSET 0 keeps the planner from putting the expressions into each other.
    return query
    select
        p_base_offset + m.index,
        case
            when s.start is null then null
            when s.flags & 8 > 0 then
                case when s.start + 17 <= s.stop
                    then encode(substring(v_frames from s.start + 2 for 16), 'hex')::uuid end
            when s.flags & 16 > 0 then encode(m.key, 'hex')::uuid
            else encode(
                v_id_high || int8send(v_id_low | ((p_base_offset + m.index) & 274877906943)),
                'hex')::uuid
        end,
        case
            when s.flags & 1 > 0 then
                case when x.stop <= s.stop then queen_store.utf8_text(
                    substring(v_frames from x.start + 3 for x.stop - x.start - 2)) end
            when get_byte(m.key, 8) >> 6 = 2 then encode(m.key, 'hex')::uuid::text
        end,
        m.key,
        s.flags::smallint,
        case when s.flags & 2 > 0 and r.start <= s.stop
            then encode(substring(v_frames from x.stop + 1 for 16), 'hex')::uuid end,
        case when s.flags & 4 > 0 and r.stop <= s.stop then queen_store.utf8_text(
            substring(v_frames from r.start + 3 for r.stop - r.start - 2)) end,
        case when r.stop <= s.stop
            then substring(v_frames from r.stop + 1 for s.stop - r.stop) end
    from (
        select i as index, substring(v_keys from i * 16 + 1 for 16) as key
        from generate_series(0, v_messages - 1) as i
        offset 0) m
    cross join lateral (
        select
            v_directory + case when m.index > 0 and v_length is not null
                then queen_store.frame_end(v_frames, m.index - 1) else 0 end as start,
            v_directory + case when v_length is not null
                then queen_store.frame_end(v_frames, m.index) end as stop
        offset 0) d
    -- The message as a whole; its parts only if it has no flag that is not of this format.
    cross join lateral (
        select
            case when b.flags < 128 then d.start::integer end as start,
            case when b.flags < 128 then d.stop::integer end as stop,
            b.flags
        from (
            select case when d.start < d.stop and d.stop <= v_length
                then get_byte(v_frames, d.start::integer) end as flags
            offset 0) b
        offset 0) s
    -- The transactionId: 2 bytes of length and the text, or nothing.
    cross join lateral (
        select t.start, t.start + case
            when s.flags & 1 = 0 then 0
            when t.start + 2 <= s.stop then
                2 + (get_byte(v_frames, t.start) << 8) + get_byte(v_frames, t.start + 1)
            end as stop
        from (select s.start + 1 + (s.flags & 8) * 2 as start offset 0) t
        offset 0) x
    -- The producer likewise, behind the trace id.
    cross join lateral (
        select t.start, t.start + case
            when s.flags & 4 = 0 then 0
            when t.start + 2 <= s.stop then
                2 + (get_byte(v_frames, t.start) << 8) + get_byte(v_frames, t.start + 1)
            end as stop
        from (select x.stop + (s.flags & 2) * 8 as start offset 0) t
        offset 0) r;
end
$$;

comment on function queen_store.decode_segment(bigint, bigint, timestamptz, bytea, bytea) is
    'Messages of a segment, one row each; never raises, whatever the bytes are. Locks: none.';

-- queen_store.stored_ids: the ids of messages of one segment.
-- Called by  find_duplicates
-- Locks      none
-- Returns    one element per offset; the nil UUID where that cannot be known (no such message,
--            payload expired, damaged bytes)
-- Raises     nothing
-- Cost       1 statement, one detoast; less than 1 us per message
create or replace function queen_store.stored_ids(
    p_partition_id bigint, p_base_offset bigint, p_created_at timestamptz, p_keys bytea,
    p_frames bytea, p_offsets bigint[])
returns uuid[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    -- Concatenation detoasts once; every substring and get_byte of the argument would do it again.
    v_keys bytea := p_keys || ''::bytea;
    v_frames bytea := p_frames || ''::bytea;
    v_directory integer := octet_length(v_keys) / 16 * 4;
    v_length integer := octet_length(v_frames);
    -- All messages of a segment have been created at once.
    v_high bytea := substring(
        uuid_send(queen_store.message_id(p_created_at, p_partition_id, 0)) from 1 for 8);
    v_low bigint := (1::bigint << 63) | ((p_partition_id & 16777215) << 38);
begin
    return (
        select array_agg(
            coalesce(
                case
                    when m.flags & 152 = 0 then encode(
                        v_high || int8send(v_low | (m."offset" & 274877906943)), 'hex')
                    when m.flags & 136 = 0 then encode(
                        substring(v_keys from m.index * 16 + 1 for 16), 'hex')
                    when m.flags < 128 and m.start + 17 <= m.stop then encode(
                        substring(v_frames from (m.start + 2)::integer for 16), 'hex')
                end,
                '00000000-0000-0000-0000-000000000000')::uuid
            order by m.nth)
        from (
            select d.nth, d."offset", d.index, d.start, d.stop,
                   case when d.start < d.stop and d.stop <= v_length
                       then get_byte(v_frames, d.start::integer) end as flags
            from (
                select i.nth, i."offset", i.index,
                       v_directory + case when i.index > 0
                           then queen_store.frame_end(v_frames, i.index - 1) else 0 end as start,
                       v_directory + queen_store.frame_end(v_frames, i.index) as stop
                from (
                    select o.nth, o."offset",
                           case when v_directory <= v_length and o."offset" >= p_base_offset
                                 and o."offset" - p_base_offset < v_directory / 4
                               then (o."offset" - p_base_offset)::integer end as index
                    from unnest(p_offsets) with ordinality o ("offset", nth)
                    offset 0) i
                offset 0) d
            offset 0) m);
end
$$;

comment on function queen_store.stored_ids(bigint, bigint, timestamptz, bytea, bytea, bigint[]) is
    'Ids of messages of a segment; nil where one cannot be known. Locks: none.';

-- queen_store.cut_frames: some messages of a segment as frames of their own, so that who reads one
-- of a hundred is not sent them all.
-- Called by  claim
-- Locks      none
-- Returns    p_count messages from p_first (from 0) on; null where the bytes make no sense
-- Raises     nothing, whatever the bytes are
-- Cost       some 3 us and two detoasts, neither further than the last of these messages
create or replace function queen_store.cut_frames(
    p_frames bytea, p_messages integer, p_first integer, p_count integer)
returns bytea
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
declare
    v_length bigint := octet_length(p_frames);
    -- The entry before the first is where that begins.
    v_before integer := least(p_first, 1);
    v_entries bytea;
    v_start bigint := 0;
    v_stop bigint;
    v_directory bytea;
begin
    if v_length is null or p_first < 0 or p_count < 1 or p_first + p_count > p_messages
        or 4 * p_messages > v_length
    then
        return null;
    end if;
    v_entries := substring(
        p_frames from 4 * (p_first - v_before) + 1 for 4 * (p_count + v_before));
    if v_before = 1 then
        v_start := queen_store.frame_end(v_entries, 0);
    end if;
    v_stop := queen_store.frame_end(v_entries, p_count - 1 + v_before);
    if v_start >= v_stop or 4 * p_messages + v_stop > v_length then
        return null;
    end if;
    if p_count = 1 then
        v_directory := int4send((v_stop - v_start)::integer);
    else
        select string_agg(substring(int8send(e.stop - v_start) from 5), '' order by e.i)
        into v_directory
        from (
            select i, queen_store.frame_end(v_entries, i) as stop
            from generate_series(v_before, p_count - 1 + v_before) i
            offset 0) e
        having bool_and(e.stop between v_start and v_stop);
    end if;
    return v_directory || substring(
        p_frames from (4 * p_messages + v_start + 1)::integer for (v_stop - v_start)::integer);
end
$$;

comment on function queen_store.cut_frames(bytea, integer, integer, integer) is
    'Some messages of a segment as frames of their own; null where the bytes make no sense. Locks: none.';

-- queen_store.message_at: one message by its offset.
-- Called by  queen API functions, ack_messages
-- Locks      none
-- Returns    one row, or none where no segment covers the offset, by its range and by its keys
-- Raises     nothing
-- Cost       1 statement: one probe of the primary key, one detoast
create or replace function queen_store.message_at(p_partition_id bigint, p_offset bigint)
returns table (
    "offset" bigint, message_id uuid, transaction_id text, key bytea, flags smallint,
    trace_id uuid, producer text, payload bytea, created_at timestamptz)
language plpgsql stable parallel unsafe
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_base_offset bigint;
    v_end_offset bigint;
    v_created_at timestamptz;
    v_keys bytea;
    v_frames bytea;
    v_index bigint;
    v_directory integer;
    v_start bigint;
    v_stop bigint;
begin
    -- Whether the segment covers the offset is asked outside: inside, a miss would walk on.
    select s.base_offset, s.end_offset, s.created_at, s.keys || ''::bytea, s.frames || ''::bytea
    into v_base_offset, v_end_offset, v_created_at, v_keys, v_frames
    from queen_store.segments s
    where s.partition_id = p_partition_id and s.base_offset <= p_offset
    order by s.base_offset desc
    limit 1;
    if v_end_offset is null or v_end_offset < p_offset then
        return;
    end if;
    v_index := p_offset - v_base_offset;
    v_directory := octet_length(v_keys) / 16 * 4;
    if v_directory <= octet_length(v_frames) and v_index < v_directory / 4 then
        v_start := case when v_index = 0 then 0
            else queen_store.frame_end(v_frames, v_index::integer - 1) end;
        v_stop := queen_store.frame_end(v_frames, v_index::integer);
    end if;
    -- The message as a segment of its own.
    return query
    select d.*, v_created_at
    from queen_store.decode_segment(
        p_partition_id, p_offset, v_created_at,
        case when v_index < v_directory / 4
            then substring(v_keys from (v_index * 16 + 1)::integer for 16) else ''::bytea end,
        case when v_start < v_stop and v_directory + v_stop <= octet_length(v_frames) then
            int4send((v_stop - v_start)::integer)
            || substring(
                v_frames
                from (v_directory + v_start + 1)::integer
                for (v_stop - v_start)::integer)
        end) d;
end
$$;

comment on function queen_store.message_at(bigint, bigint) is
    'One message by its offset; no row where no segment covers it. Locks: none.';

-- queen_store.encode_frames: messages as segments, for those who push in SQL.
-- Called by  queen.push, replay_dead_letter
-- Locks      none
-- Returns    one row per segment: at most 1,000 messages and 1 MiB, a larger message alone. Where
--            no transactionId is given, the promised id or a minted UUID is transactionId, key and
--            id. message_ids is null where the id follows from the offset (message_id)
-- Raises     QN400 bad_request (a text longer than 65,535 bytes)
-- Cost       2 statements and a loop over the lengths
create or replace function queen_store.encode_frames(
    p_transaction_ids text[], p_payloads bytea[], p_trace_ids uuid[], p_producer text,
    p_promised_ids uuid[])
returns table (
    keys bytea, frames bytea, message_count integer, first_ordinal integer,
    transaction_ids text[], message_ids uuid[])
language plpgsql volatile parallel unsafe
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
    v_transaction_ids text[];
    v_message_ids uuid[];
    v_keys bytea[];
    v_messages bytea[];
    v_segments integer[] := '{}';
    v_longest integer;
    v_segment integer := 1;
    v_count integer := 0;
    v_bytes integer := 0;
begin
    select
        array_agg(m.transaction_id order by m.ordinal),
        array_agg(m.id order by m.ordinal),
        array_agg(m.key order by m.ordinal),
        array_agg(
            set_byte('\x00'::bytea, 0,
                case when m.text is null then 0 else 1 end
                | case when m.trace_id is null then 0 else 2 end
                | case when m.producer is null then 0 else 4 end
                | case when m.id is null then 0 when m.id_is_key then 16 else 8 end)
            || case when m.id is null or m.id_is_key then ''::bytea else uuid_send(m.id) end
            || case when m.text is null then ''::bytea
                else substring(int4send(octet_length(m.text)) from 3) || m.text end
            || case when m.trace_id is null then ''::bytea else uuid_send(m.trace_id) end
            || case when m.producer is null then ''::bytea
                else substring(int4send(octet_length(m.producer)) from 3) || m.producer end
            || m.payload
            order by m.ordinal),
        max(greatest(octet_length(m.text), octet_length(m.producer)))
    into v_transaction_ids, v_message_ids, v_keys, v_messages, v_longest
    from (
        select k.*,
            k.minted and get_byte(k.key, 8) >> 6 = 2 as id_is_key,
            case when get_byte(k.key, 8) >> 6 = 2 then null
                else convert_to(k.transaction_id, 'UTF8') end as text,
            convert_to(p_producer, 'UTF8') as producer
        from (
            select t.*, queen_store.key_of(t.transaction_id) as key
            from (
                select i.ordinal, i.payload, i.trace_id,
                    i.transaction_id is null as minted,
                    coalesce(i.transaction_id, i.id::text) as transaction_id,
                    i.id
                from (
                    select u.ordinal, u.transaction_id, u.payload, u.trace_id,
                        coalesce(
                            u.promised_id,
                            case when u.transaction_id is null
                                then queen_store.mint_uuid() end) as id
                    from unnest(p_transaction_ids, p_payloads, p_trace_ids, p_promised_ids)
                        with ordinality
                        as u(transaction_id, payload, trace_id, promised_id, ordinal)
                    where u.ordinal <= cardinality(p_payloads)
                    offset 0
                ) i
                offset 0
            ) t
            offset 0
        ) k
        offset 0
    ) m;
    if v_longest > 65535 then
        raise exception using errcode = 'QN400', message = 'bad_request',
            detail = format('transactionId must be at most 65535 bytes, got %s', v_longest);
    end if;
    for i in 1 .. coalesce(cardinality(v_messages), 0) loop
        if v_count > 0
            and (v_count = 1000 or v_bytes + 4 + octet_length(v_messages[i]) > 1048576)
        then
            v_segment := v_segment + 1;
            v_count := 0;
            v_bytes := 0;
        end if;
        v_count := v_count + 1;
        v_bytes := v_bytes + 4 + octet_length(v_messages[i]);
        v_segments[i] := v_segment;
    end loop;
    return query
    select
        string_agg(m.key, ''::bytea order by m.ordinal),
        string_agg(int4send(m.stop::integer), ''::bytea order by m.ordinal)
            || string_agg(m.message, ''::bytea order by m.ordinal),
        count(*)::integer,
        min(m.ordinal)::integer,
        array_agg(m.transaction_id order by m.ordinal),
        array_agg(m.id order by m.ordinal)
    from (
        select u.*,
            sum(octet_length(u.message)) over (partition by u.segment order by u.ordinal) as stop
        from unnest(v_segments, v_keys, v_messages, v_transaction_ids, v_message_ids)
            with ordinality as u(segment, key, message, transaction_id, id, ordinal)
    ) m
    group by m.segment
    order by m.segment;
end
$$;

comment on function queen_store.encode_frames(text[], bytea[], uuid[], text, uuid[]) is
    'Messages as segments within the caps; null transactionIds are minted. Locks: none.';
