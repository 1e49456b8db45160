-- Who holds which lock, and for how long if nobody renews it?
create or replace view queen.locks as
select
    regexp_replace(k.key, '#[0-9]{1,4}$', '') as name,
    substring(k.key from '#([0-9]{1,4})$')::integer as slot,
    -- A value with a code point as an escape is of somebody else's hand, and may be none that
    -- text can hold: reading the view must not fail for it.
    case when strpos(k.value, '\u') = 0 then k.value::json ->> 'owner' end as owner,
    k.version as token,
    k.created_at as held_since,
    k.updated_at as renewed_at,
    k.expires_at,
    k.tenant_id
from queen_store.kv k
where k.namespace = 'queen-locks'
  and k.key ~ '#[0-9]{1,4}$'
  and (k.expires_at is null or k.expires_at > clock_timestamp());

comment on view queen.locks is
    'Locks that are held, a row per slot. Filter it by tenant_id.';
comment on column queen.locks.name is 'Name of the lock.';
comment on column queen.locks.slot is 'Slot, from 0; a lock with a limit above 1 has several.';
comment on column queen.locks.owner is 'Who holds it, as he called himself or was called; null = what is written there is no owner.';
comment on column queen.locks.token is 'Fencing token: the version of its key.';
comment on column queen.locks.held_since is 'When it was taken after nobody had held it.';
comment on column queen.locks.renewed_at is 'When it was taken or last renewed.';
comment on column queen.locks.expires_at is 'From then on nobody holds it; null = it has no end, which only writes of keys can do.';
comment on column queen.locks.tenant_id is 'Owner; 00000000-0000-0000-0000-000000000001 without tenancy.';
