import type { ReactNode } from 'react';
import { formatCount } from '../../format.ts';
import { messages } from '../../messages/index.ts';

export interface Bar {
  readonly name: string;
  readonly note?: ReactNode;
  readonly value: number;
  /** The value in words; its default is the count. */
  readonly shown?: string;
}

interface Props {
  readonly bars: readonly Bar[];
  /** The value of the longest bar; its default is the largest value. */
  readonly max?: number;
  readonly isMono?: boolean;
}

/** Amounts beside each other, largest first as they come. */
export function Bars({ bars, max = Math.max(...bars.map(({ value }) => value)), isMono }: Props) {
  return (
    <div className="bars">
      {bars.map(({ name, note, value, shown }, index) => (
        <div key={`${name} ${index}`} className="bar">
          <span className={isMono === true ? 'mono' : undefined}>
            {name} {note}
          </span>
          <meter aria-label={name} min={0} max={Math.max(1, max)} value={value} />
          <span className="num">{shown ?? formatCount(value)}</span>
        </div>
      ))}
    </div>
  );
}

interface Total {
  readonly stage: string;
  readonly reason: string;
  readonly by: string;
  readonly packets: number;
}

/** Why packets were dropped, each reason's share of all. */
export function DropBars({ totals, packets }: { totals: readonly Total[]; packets: number }) {
  return (
    <Bars
      max={packets}
      bars={totals.map(({ stage, reason, by, packets: value }) => ({
        name: messages.drops.reason(stage, reason),
        note: by === 'xdp' && <span className="dim">{messages.drops.early}</span>,
        value,
      }))}
    />
  );
}
