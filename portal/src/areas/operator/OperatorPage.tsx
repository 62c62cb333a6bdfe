import { Tabs } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { PageHeader } from '../../components/PageHeader.tsx';
import { RoleGate } from '../../components/RoleGate.tsx';
import { messages } from '../../messages/index.ts';
import { AuditPanel } from './audit/AuditPanel.tsx';
import { FleetPanel } from './fleet/FleetPanel.tsx';
import { OrganisationsPanel } from './organisations/OrganisationsPanel.tsx';
import { OpenLinks } from './people/OpenLinks.tsx';
import { PeoplePanel } from './people/PeoplePanel.tsx';
import { isTab, TABS } from './tabs.ts';

const text = messages.operator;

/** What operators see of all organisations, and of the fleet. */
export function OperatorPage() {
  const { tab = 'organisations' } = useSearch({ from: '/operator' });
  const navigate = useNavigate();
  return (
    <>
      <PageHeader title={text.title} lead={text.lead} />
      <RoleGate needs="operator">
        <Tabs
          value={tab}
          onChange={(next) =>
            isTab(next) && void navigate({ to: '/operator', search: { tab: next }, replace: true })
          }
          keepMounted={false}
        >
          <Tabs.List mb="md">
            {TABS.map((each) => (
              <Tabs.Tab key={each} value={each}>
                {text.tabs[each]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          <Tabs.Panel value="organisations">
            <OrganisationsPanel />
          </Tabs.Panel>
          <Tabs.Panel value="people">
            <div className="stack">
              <PeoplePanel />
              <OpenLinks />
            </div>
          </Tabs.Panel>
          <Tabs.Panel value="fleet">
            <FleetPanel />
          </Tabs.Panel>
          <Tabs.Panel value="audit">
            <AuditPanel />
          </Tabs.Panel>
        </Tabs>
      </RoleGate>
    </>
  );
}
