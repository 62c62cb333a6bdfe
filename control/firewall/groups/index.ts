/** Firewall groups: rules and filters that an organisation puts on many addresses at once. */
export {
  describeRule,
  expandRule,
  type FilterContent,
  filterKey,
  type RuleContent,
  ruleKey,
} from './content.ts';
export { assignGroup, createGroup, deleteGroup, editGroup } from './service.ts';
