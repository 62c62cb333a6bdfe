import { messages } from '../messages/index.ts';
import { Pill } from './Pill.tsx';

const text = messages.propagation;

interface Props {
  readonly status: string;
  /** Whether an edge enforces for the address; without one, nothing is on its way. */
  readonly isEnforced: boolean;
}

/** How far an object has come: live is only what every edge in service has. */
export function PropagationPill({ status, isEnforced }: Props) {
  if (status === 'live') return <Pill tone="ok">{text.live}</Pill>;
  if (!isEnforced) return <Pill tone="neutral">{text.accepted}</Pill>;
  return (
    <Pill tone="warn" moving>
      {status === 'going' ? text.going : text.pending}
    </Pill>
  );
}
