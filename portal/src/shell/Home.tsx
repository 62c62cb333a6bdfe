import { Navigate } from '@tanstack/react-router';
import { useHasOrganisation } from '../session/session.ts';

/** The first page: the addresses of the organisation, or the fleet for an operator who has none of their own. */
export function Home() {
  return useHasOrganisation() ? (
    <Navigate to="/addresses" replace />
  ) : (
    <Navigate to="/operator" search={{ tab: 'fleet' }} replace />
  );
}
