"""The papers whose experiments the sets belong to."""

MATHUR = "Mathur and Chakrabarti 2006"
YU = "Yu et al. 2010"
BLONDEL = "Blondel et al. 2013"
ZHONG = "Zhong et al. 2014"
