import { Lock, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { messages } from '../messages/index.ts';
import { useRefusal } from '../session/rights.ts';
import type { Role } from '../session/roles.ts';
import { useSession } from '../session/session.ts';
import { EmptyState } from './EmptyState.tsx';

const text = messages.gate;

interface Props {
  readonly needs: Role | 'operator' | 'person';
  readonly children: ReactNode;
}

/** Shows its children to whom the service would answer, and says to all others what they need. */
export function RoleGate({ needs, children }: Props) {
  const { person } = useSession();
  const byRole = useRefusal(needs === 'operator' || needs === 'person' ? 'read-only' : needs);
  const byAccount = needs === 'person' || person?.operator === true ? null : text.operator;
  const why = needs === 'operator' || needs === 'person' ? byAccount : byRole;
  if (person !== null && why === null) return children;
  if (person === null || why === null) {
    return <EmptyState inCard icon={UserRound} title={text.keyTitle} text={text.key} />;
  }
  return <EmptyState inCard icon={Lock} title={text.title} text={why} />;
}
