import { lazy } from 'react';
import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { TabShell } from '../../components/TabShell.tsx';
import { operatorMessages } from '../../messages/operator.ts';
import { AuditPanel } from './audit/AuditPanel.tsx';
import { FleetPanel } from './fleet/FleetPanel.tsx';
import { OrganisationsPanel } from './organisations/OrganisationsPanel.tsx';
import { OpenLinks } from './people/OpenLinks.tsx';
import { PeoplePanel } from './people/PeoplePanel.tsx';

const KindCards = lazy(() => import('./declared/KindCards.tsx'));
const text = operatorMessages;

/** The view that operators see of all organisations, and of the fleet. */
export function OperatorPage() {
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      <RoleGate needs="operator">
        <TabShell
          path="/operator"
          titles={text.tabs}
          panels={{
            organisations: <OrganisationsPanel />,
            people: (
              <div className="stack">
                <PeoplePanel />
                <OpenLinks />
              </div>
            ),
            fleet: <FleetPanel />,
            protection: <KindCards />,
            audit: <AuditPanel />,
          }}
        />
      </RoleGate>
    </>
  );
}
