import { type Db, openDatabase } from '@portcullis/control/db/database.ts';
import { findEmbeddedPostgres } from '@portcullis/control/db/embedded/index.ts';
import { migrationUrl } from '@portcullis/control/db/embedded/roles.ts';
import { sql } from 'kysely';
import type { Stack } from '../stack/stack.ts';

/**
 * Everything that the database holds of one attack, and when each of it was committed: by its clock, in milliseconds.
 */
export interface Journalled {
  readonly id: number;
  /** An address, or a prefix with its length. */
  readonly subject: string;
  readonly type: string;
  readonly peakPps: number;
  readonly peakBps: number;
  readonly startedAtMs: number;
  /** When an edge had the mitigation in its kernel. */
  readonly mitigatedAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly openedCommittedMs: number;
  readonly mitigatedCommittedMs: number | null;
  /** The time of the last end. */
  readonly endedCommittedMs: number | null;
}

/** The same of a record that was written with its end, of an outage, so that nobody noted when it was opened. */
export interface RecordedAttack extends Omit<Journalled, 'openedCommittedMs'> {
  readonly openedCommittedMs: number | null;
}

/** When something was committed is known to whoever commits it: a deferred trigger notes it, and nobody has to look. */
const INSTALL = `
  create table lab_attack_journal (attack_id bigint, what text, at timestamptz);
  create function lab_note_record() returns trigger security definer language plpgsql as $$
  begin
    if tg_op = 'INSERT' or old.attack_id <> new.attack_id then
      insert into lab_attack_journal values (new.attack_id, 'opened', clock_timestamp());
    end if;
    if new.ended_at is not null and (tg_op = 'INSERT' or old.ended_at is null) then
      insert into lab_attack_journal values (new.attack_id, 'ended', clock_timestamp());
    end if;
    return null;
  end $$;
  create function lab_note_response() returns trigger security definer language plpgsql as $$
  begin
    if new.mitigated_at is not null and old.mitigated_at is null then
      insert into lab_attack_journal values (new.attack_id, 'mitigated', clock_timestamp());
    end if;
    return null;
  end $$;
  create constraint trigger lab_record after insert or update on ongoing_attacks
    deferrable initially deferred for each row execute function lab_note_record();
  create constraint trigger lab_response after update on attack_responses
    deferrable initially deferred for each row execute function lab_note_response();`;

/** Notes in a stack's database when records of attacks are opened, mitigated and ended. */
export class AttackJournal {
  readonly #db: Db;

  private constructor(db: Db) {
    this.#db = db;
  }

  static async open({ dataDir }: Pick<Stack, 'dataDir'>): Promise<AttackJournal> {
    const url = findEmbeddedPostgres(dataDir);
    if (url === null) throw new Error('the stack has no database');
    const db = openDatabase({ url: migrationUrl(url), poolSize: 1 });
    await sql.raw(INSTALL).execute(db);
    return new AttackJournal(db);
  }

  async close(): Promise<void> {
    await this.#db.destroy();
  }

  /** Every record that holds and was opened while it was noted, oldest first. */
  async read(): Promise<Journalled[]> {
    return (await this.readAll()).flatMap((one) => {
      const { openedCommittedMs } = one;
      return openedCommittedMs === null ? [] : [{ ...one, openedCommittedMs }];
    });
  }

  /** Every record that holds, oldest first. */
  async readAll(): Promise<RecordedAttack[]> {
    const { rows } = await sql<Row>`
      select a.id, a.subject::text as subject, a.attack_type as type, a.peak_pps as "peakPps",
             a.peak_bps as "peakBps", a.started_at as "startedAt",
             a.mitigated_at as "mitigatedAt", a.ended_at as "endedAt",
             min(j.at) filter (where j.what = 'opened') as opened,
             min(j.at) filter (where j.what = 'mitigated') as mitigated,
             max(j.at) filter (where j.what = 'ended') as ended
        from attacks a left join lab_attack_journal j on j.attack_id = a.id
       where a.until_revision = 9223372036854775807
       group by a.id, a.revision, a.started_at order by a.started_at, a.id`.execute(this.#db);
    return rows.map(
      ({ opened, mitigated, ended, startedAt, mitigatedAt, endedAt, subject, ...row }) => ({
        ...row,
        subject: subject.replace(subject.includes(':') ? /\/128$/ : /\/32$/, ''),
        startedAtMs: startedAt.getTime(),
        mitigatedAtMs: mitigatedAt?.getTime() ?? null,
        endedAtMs: endedAt?.getTime() ?? null,
        openedCommittedMs: opened?.getTime() ?? null,
        mitigatedCommittedMs: mitigated?.getTime() ?? null,
        endedCommittedMs: ended?.getTime() ?? null,
      }),
    );
  }
}

interface Row extends Pick<Journalled, 'id' | 'subject' | 'type' | 'peakPps' | 'peakBps'> {
  readonly startedAt: Date;
  readonly mitigatedAt: Date | null;
  readonly endedAt: Date | null;
  readonly opened: Date | null;
  readonly mitigated: Date | null;
  readonly ended: Date | null;
}
