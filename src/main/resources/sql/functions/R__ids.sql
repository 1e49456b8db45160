-- Numbers inside, UUIDs at the edge: how lanes, messages and leases are named to clients. The
-- broker has the same functions in model.Ids and segment.MessageKey.

-- queen_store.partition_uuid: the partitionId of a lane.
-- Called by  views, queen API functions
-- Locks      none
-- Returns    00000000-0000-8000-8000-00000000002a for lane 42
-- Raises     nothing
-- Cost       inlined
create or replace function queen_store.partition_uuid(p_number bigint)
returns uuid
language sql immutable parallel safe
return ('00000000-0000-8000-8000-' || lpad(to_hex(p_number), 12, '0'))::uuid;

comment on function queen_store.partition_uuid(bigint) is
    'partitionId of a lane: a UUIDv8 whose low bits are its number. Locks: none.';

-- queen_store.partition_number: the lane a partitionId names.
-- Called by  views, queen API functions
-- Locks      none
-- Returns    its number, or null where the id is not of that form
-- Raises     nothing
-- Cost       inlined
create or replace function queen_store.partition_number(p_id uuid)
returns bigint
language sql immutable parallel safe
return case
    when p_id between uuid '00000000-0000-8000-8000-000000000001'
        and uuid '00000000-0000-8000-8000-000fffffffff'
    then ('x' || right(p_id::text, 9))::bit(36)::bigint
end;

comment on function queen_store.partition_number(uuid) is
    'Number of the lane that a partitionId names; null where the id has not that form. Locks: none.';

-- queen_store.key_of: the identity of a transactionId, 16 bytes.
-- Called by  queen API functions, encode_frames, dead_letters_of, replay_dead_letter, find_message,
--            fire_timers, fail_timers, add_trace, list_traces, segment_violations
-- Locks      none
-- Returns    the bytes of a canonical (lower case, RFC variant) UUID; for any other text the first
--            16 bytes of its SHA-256 with the top three bits of byte 8 set, so that they never meet
-- Raises     nothing
-- Cost       inlined; stable only because convert_to is
create or replace function queen_store.key_of(p_transaction_id text)
returns bytea
language sql stable parallel safe
return case
    when p_transaction_id
        ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'
    then uuid_send(p_transaction_id::uuid)
    else set_bit(set_bit(set_bit(
        substring(sha256(convert_to(p_transaction_id, 'UTF8')) from 1 for 16),
        69, 1), 70, 1), 71, 1)
end;

comment on function queen_store.key_of(text) is
    'Identity of a transactionId: what deduplication and acks compare. Locks: none.';

-- queen_store.message_id: the computed id of a message whose transactionId the client gave.
-- Called by  queen API functions, ack_messages, replay_dead_letter, decode_segment, stored_ids
-- Locks      none
-- Returns    UUIDv7 of created_at in ms, 36 bits of the lane, 38 bits of the offset
-- Raises     nothing
-- Cost       inlined
create or replace function queen_store.message_id(
    p_created_at timestamptz, p_partition_id bigint, p_offset bigint)
returns uuid
language sql immutable parallel safe
return encode(
    -- The difference of two instants, since extract from one depends on settings.
    int8send(
        (floor(extract(epoch from p_created_at - timestamptz '1970-01-01 00:00:00+00')
            * 1000)::bigint << 16)
        | 28672
        | (p_partition_id >> 24))
    || int8send(
        (1::bigint << 63)
        | ((p_partition_id & 16777215) << 38)
        | (p_offset & 274877906943)),
    'hex')::uuid;

comment on function queen_store.message_id(timestamptz, bigint, bigint) is
    'Id of a message that neither promised nor minted one: time, lane and offset as a UUIDv7. Locks: none.';

-- queen_store.lease_uuid: a minted lease id with the number of the one lane it covers.
-- Called by  claim, release_lease
-- Locks      none
-- Returns    the id with its 36 bits for the lane replaced; 0 = several lanes
-- Raises     nothing
-- Cost       inlined
create or replace function queen_store.lease_uuid(p_minted uuid, p_number bigint)
returns uuid
language sql immutable parallel safe
return encode(
    overlay(
        uuid_send(p_minted)
        -- Bytes 6 to 11: version, 12 bits, variant, 24 bits, and 6 bits that stay.
        placing substring(
            int8send(
                (7::bigint << 44)
                | ((p_number >> 24) << 32)
                | (2::bigint << 30)
                | ((p_number & 16777215) << 6)
                | (get_byte(uuid_send(p_minted), 11) & 63))
            from 3)
        from 7),
    'hex')::uuid;

comment on function queen_store.lease_uuid(uuid, bigint) is
    'Lease id that carries the number of its lane, made of a minted UUIDv7. Locks: none.';

-- queen_store.lease_number: the lane that a lease id carries.
-- Called by  extend_lease, hold_leases, release_lease, queen.lease, cursor_violations
-- Locks      none
-- Returns    its number; 0 = several lanes, see queen_store.leases; null = not a UUIDv7
-- Raises     nothing
-- Cost       inlined
create or replace function queen_store.lease_number(p_lease_id uuid)
returns bigint
language sql immutable parallel safe
return case
    when get_byte(uuid_send(p_lease_id), 6) >> 4 = 7 and get_byte(uuid_send(p_lease_id), 8) >> 6 = 2
    then (('x' || substring(p_lease_id::text from 16 for 3))::bit(12)::bigint << 24)
        | ((('x' || substring(p_lease_id::text from 20 for 4)
            || substring(p_lease_id::text from 25 for 4))::bit(32)::bigint >> 6) & 16777215)
end;

comment on function queen_store.lease_number(uuid) is
    'Number of the lane a lease id carries; 0 = several, null = no lease id. Locks: none.';

-- queen_store.mint_uuid: a new UUIDv7.
-- Called by  encode_frames, queen API functions
-- Locks      none
-- Returns    48 bits of time in ms, the rest random
-- Raises     nothing
-- Cost       inlined
create or replace function queen_store.mint_uuid()
returns uuid
language sql volatile parallel safe
return encode(
    -- Version 4 becomes 7 by setting two bits of byte 6.
    set_bit(
        set_bit(
            overlay(
                uuid_send(gen_random_uuid())
                placing substring(
                    int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                from 1),
            52, 1),
        53, 1),
    'hex')::uuid;

comment on function queen_store.mint_uuid() is
    'A new UUIDv7: transactionId, key and id of a message that came without one. Locks: none.';
