import { messages } from '../messages/index.ts';
import { Pill } from './Pill.tsx';

const text = messages.propagation;

/** How far an object has come: live is only what every edge in service has. */
export function PropagationPill({ status }: { readonly status: string }) {
  if (status === 'live') return <Pill tone="ok">{text.live}</Pill>;
  return (
    <Pill tone="warn" moving>
      {status === 'going' ? text.going : text.pending}
    </Pill>
  );
}
