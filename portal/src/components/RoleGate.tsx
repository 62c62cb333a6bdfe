import { Lock, UserRound } from 'lucide-react';
import type { ReactNode } from 'react';
import { messages } from '../messages/index.ts';
import { useRefusal } from '../session/rights.ts';
import type { Role } from '../session/roles.ts';
import { useSession } from '../session/session.ts';
import { EmptyState } from './EmptyState.tsx';

const text = messages.gate;

/** Shows its children to whom the service would answer, and says to all others what they need. */
export function RoleGate({
  needs,
  children,
}: {
  readonly needs: Role | 'operator' | 'person';
  readonly children: ReactNode;
}) {
  const { person } = useSession();
  const refusal = useRefusal(needs === 'operator' || needs === 'person' ? 'read-only' : needs);
  if (person === null) {
    return <EmptyState icon={UserRound} title={text.keyTitle} text={text.key} />;
  }
  if (needs === 'person') return children;
  if (needs === 'operator') {
    if (person.operator) return children;
    return <EmptyState icon={Lock} title={text.title} text={text.operator} />;
  }
  if (refusal !== null) return <EmptyState icon={Lock} title={text.title} text={refusal} />;
  return children;
}
