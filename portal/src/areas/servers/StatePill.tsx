import type { GameServerStatus } from '@portcullis/client/index.ts';
import { Pill, type Tone } from '../../components/Pill.tsx';
import { messages } from '../../messages/index.ts';

const text = messages.servers;
const TONES: Readonly<Record<string, Tone>> = {
  running: 'ok',
  starting: 'warn',
  stopping: 'warn',
  paused: 'warn',
};

type Props = Pick<GameServerStatus, 'state' | 'build_state'>;

/** The state of a server. Unknown is said, never guessed. */
export function StatePill({ state, build_state: build }: Props) {
  if (build !== 'built') {
    return (
      <Pill tone={build === 'failed' ? 'bad' : 'warn'} moving={build === 'building'}>
        {text.builds[build as keyof typeof text.builds] ?? build}
      </Pill>
    );
  }
  if (state === null) return <Pill tone="neutral">{text.unknown}</Pill>;
  return (
    <Pill tone={TONES[state] ?? 'neutral'} moving={state === 'starting' || state === 'stopping'}>
      {text.states[state as keyof typeof text.states] ?? state}
    </Pill>
  );
}
