import { Navigate } from '@tanstack/react-router';
import { useRole } from '../session/rights.ts';
import { useHasOrganisation } from '../session/session.ts';

/** The first page: the addresses of the organisation, its servers for a guest, or the fleet for an operator without one. */
export function Home() {
  const isGuest = useRole() === 'guest';
  return useHasOrganisation() ? (
    <Navigate to={isGuest ? '/servers' : '/addresses'} replace />
  ) : (
    <Navigate to="/operator" search={{ tab: 'fleet' }} replace />
  );
}
