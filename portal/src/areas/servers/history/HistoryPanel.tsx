import type { Attack, GameServerHistory } from '@portcullis/client/index.ts';
import { CirclePlay, CircleStop, Flame, Hammer, History, ShieldAlert } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { Time } from '../../../components/Time.tsx';
import { formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';
import { useAttacksOfDay } from '../../attacks/queries.ts';
import { useHistory } from '../queries.ts';
import { type Happening, type Timeline, timelineOf } from './timeline.ts';

const text = messages.server.history;

interface Props {
  readonly uuid: string;
  readonly ip: string;
}

/** Crashes, changes of state and attacks of the last day, on one time line. */
export default function HistoryPanel({ uuid, ip }: Props) {
  const attacks = useAttacksOfDay(ip);
  return (
    <Loaded query={useHistory(uuid)} inCard>
      {(history) => <Shown history={history} attacks={attacks.data} />}
    </Loaded>
  );
}

interface ShownProps {
  readonly history: GameServerHistory;
  /** Null: they may not be seen. */
  readonly attacks: readonly Attack[] | null | undefined;
}

function Shown({ history, attacks }: ShownProps) {
  const timeline = useMemo(() => timelineOf(history, attacks ?? []), [history, attacks]);
  return (
    <section className="card card-pad stack" aria-label={text.title}>
      <Strip timeline={timeline} {...history.meta} />
      {attacks === null && <p className="dim">{text.attacksHidden}</p>}
      {timeline.happenings.length === 0 ? (
        <EmptyState icon={History} {...text.empty} />
      ) : (
        <ol className="happenings">
          {timeline.happenings.map((happening, index) => (
            <Row key={`${happening.kind} ${happening.at} ${index}`} happening={happening} />
          ))}
        </ol>
      )}
    </section>
  );
}

interface StripProps {
  readonly timeline: Timeline;
  readonly from: string;
  readonly to: string;
}

/** The list below says the same in words. */
function Strip({ timeline, from, to }: StripProps) {
  const { states, crashes, attacks } = timeline;
  return (
    <div className="strip" role="img" aria-label={text.summary(crashes.length, attacks.length)}>
      <Lane name={text.lanes.state}>
        {states.map(({ left, width, state }) => (
          <i
            key={left}
            data-state={state ?? undefined}
            style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
          />
        ))}
      </Lane>
      <Lane name={text.lanes.crashes}>
        {crashes.map((left) => (
          <i key={left} className="mark" style={{ left: `${left * 100}%` }} />
        ))}
      </Lane>
      <Lane name={text.lanes.attacks}>
        {attacks.map(({ left, width }) => (
          <i
            key={`${left} ${width}`}
            className="attack"
            style={{ left: `${left * 100}%`, width: `max(3px, ${width * 100}%)` }}
          />
        ))}
      </Lane>
      <div className="strip-ends">
        <span>{formatMoment(new Date(from))}</span>
        <span>{formatMoment(new Date(to))}</span>
      </div>
    </div>
  );
}

function Lane({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="strip-lane">
      <span>{name}</span>
      <div>{children}</div>
    </div>
  );
}

function Row({ happening }: { readonly happening: Happening }) {
  const { icon: Icon, tone, words } = wordsOf(happening);
  return (
    <li className={tone}>
      <Icon size={16} aria-hidden="true" />
      <span>{words}</span>
      <Time at={happening.at} />
    </li>
  );
}

function wordsOf(happening: Happening) {
  switch (happening.kind) {
    case 'crash':
      return { icon: Flame, tone: 'bad', words: text.crashed };
    case 'attack': {
      const { attack_type: type, destination_ip: ip, ended_at: end } = happening.attack;
      const what = messages.attack.title(type, ip);
      const words = text.attack(what, happening.attack.peak_bps_formatted, end === null);
      return { icon: ShieldAlert, tone: 'bad', words };
    }
    case 'build':
      return { icon: Hammer, tone: 'dim', words: text.build(happening.state) };
    case 'state':
    default: {
      const Icon = happening.state === 'running' ? CirclePlay : CircleStop;
      return { icon: Icon, tone: 'dim', words: text.became(happening.state) };
    }
  }
}
